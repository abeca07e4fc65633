"""Work that is stopped from outside: after some time, or by another thread.

It ends at the next safe point, where an epoch can be abandoned. Signals are handled there, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from deltic.errors import StoppedError


class StopSignal:
    """Stops the work of the thread that is inside `heeded`: after some `seconds`, or once `stop` is called."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._until = float("inf") if seconds is None else time.monotonic() + seconds
        self._reason = ""

    def stop(self, reason: str = "it was cancelled") -> None:
        """Stop the work, from any thread."""
        self._reason = reason

    def check(self) -> None:
        """Raise StoppedError if the work must end."""
        if self._reason:
            raise StoppedError(f"the statement was stopped: {self._reason}; nothing was changed")
        if time.monotonic() > self._until:
            raise StoppedError(
                f"the statement was stopped after {self._seconds:g} s, which is all that it may take; nothing was "
                "changed. Ask for less, or allow it more time"
            )

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Let the work of this thread be stopped within the block."""
        before, _OF_THREAD.signal = _OF_THREAD.signal, self
        try:
            self.check()
            yield
        finally:
            _OF_THREAD.signal = before


class _OfThread(threading.local):
    signal: StopSignal | None = None


_OF_THREAD = _OfThread()


def check_stopped() -> None:
    """Raise StoppedError if the work of this thread must end."""
    if (signal := _OF_THREAD.signal) is not None:
        signal.check()
