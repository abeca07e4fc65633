"""Work that is stopped from outside: after some time, or because another thread says so.

It ends at the next safe place, where an epoch can be given up: those at which signals are handled, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from deltic.errors import StoppedError


class StopSignal:
    """Stops the work of the thread that is inside `heeded`: `seconds` after it was made, or once `stop` is called."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._until = float("inf") if seconds is None else time.monotonic() + seconds
        self._reason = ""

    def stop(self, reason: str = "it was cancelled") -> None:
        """Stop the work, from any thread."""
        self._reason = reason

    def check(self) -> None:
        """Raises StoppedError where the work is to end."""
        if self._reason:
            raise StoppedError(f"the statement was stopped: {self._reason}; nothing was changed")
        if time.monotonic() > self._until:
            raise StoppedError(
                f"the statement was stopped after {self._seconds:g} s, which is all that it may take; nothing was "
                "changed. Ask for less, or allow it more time"
            )

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Let the work of this thread be stopped while the block lasts."""
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
    """Raises StoppedError where the work of this thread is to end."""
    if (signal := _OF_THREAD.signal) is not None:
        signal.check()
