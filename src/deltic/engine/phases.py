"""The time of an epoch's phases."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Phases:
    """The seconds of each phase, in the order in which they ended. `end` ends the running one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def end(self, phase: str) -> None:
        """End the running phase under this name. Phases with the same name are added."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._began
        self._began = now

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add phases that were measured elsewhere, and ended now."""
        self.seconds.update(seconds)
        self._began = time.perf_counter()
