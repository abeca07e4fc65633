"""Work that is stopped from outside: after some time, by another thread, or when it takes too much memory.

It ends at the next safe point, where an epoch can be abandoned. Signals are handled there, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from deltic.engine.resources import memory_held
from deltic.errors import MemoryLimitError, StoppedError

_PAUSE = 0.01
"""Seconds for which the memory of the process is not looked at again."""


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
    def heeded(self, memory: int | None = None) -> Iterator[None]:
        """Let the work of this thread be stopped within the block.

        With `memory` it is stopped, too, once the process has grown by more bytes.
        """
        before, bound = _OF_THREAD.signal, _OF_THREAD.bound
        _OF_THREAD.signal, _OF_THREAD.bound = self, None if memory is None else _MemoryBound(memory)
        try:
            self.check()
            yield
        finally:
            _OF_THREAD.signal, _OF_THREAD.bound = before, bound


class _MemoryBound:
    """By how many bytes the process may grow."""

    def __init__(self, memory: int) -> None:
        self._memory, self._before = memory, memory_held()
        self._looked = time.monotonic()

    def check(self) -> None:
        """Raise MemoryLimitError if the process has grown by more."""
        if (now := time.monotonic()) < self._looked + _PAUSE:
            return
        self._looked = now
        if (grown := memory_held() - self._before) > self._memory:
            raise MemoryLimitError(
                f"the question was stopped: the process has grown by {grown >> 20:,} MiB meanwhile, and a question may "
                f"take {self._memory >> 20:,} MiB. Ask for less, or let the server allow more with --question-memory"
            )


class _OfThread(threading.local):
    signal: StopSignal | None = None
    bound: _MemoryBound | None = None


_OF_THREAD = _OfThread()


def check_stopped() -> None:
    """Raise StoppedError if the work of this thread must end."""
    if (signal := _OF_THREAD.signal) is not None:
        signal.check()
    if (bound := _OF_THREAD.bound) is not None:
        bound.check()
