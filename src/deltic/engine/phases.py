"""What an epoch spends its time on."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Phases:
    """The seconds that each phase took, in the order in which they ended; what is running ends with `end`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def end(self, phase: str) -> None:
        """What was done since the last phase ended was this one; again, if there was one of that name."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._began
        self._began = now

    def add(self, seconds: Mapping[str, float]) -> None:
        """Take over phases that were measured elsewhere, and ended now."""
        self.seconds.update(seconds)
        self._began = time.perf_counter()
