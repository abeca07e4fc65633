"""The critical section of a state: one thread works at a time, and signal handlers wait for a safe point."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from deltic.engine.interrupts import is_main_thread, postponed
from deltic.errors import BusyError

# Seconds between two checks of a waiting main thread for interrupts.
_GLANCE = 0.05


class CriticalSection:
    """A reentrant lock for with-blocks: one thread is inside, others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._depth = 0

    @property
    def is_mine(self) -> bool:
        """Return whether this thread is inside."""
        return self._owner == threading.get_ident()

    def enter(self, timeout: float | None = None) -> None:
        """Enter, after a wait of at most `timeout` seconds; `leave` ends it. Raises BusyError.

        An interrupt that arrives while the main thread waits ends the wait.
        """
        if not self.is_mine:
            postponed.__enter__()
            try:
                self._wait(timeout)
            except BaseException:
                postponed.__exit__(None, None, None)
                raise
            self._owner = threading.get_ident()
        self._depth += 1

    def leave(self) -> None:
        """Undo one `enter`. At the last one, signals that arrived are handled, which may raise an error."""
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self._lock.release()
            postponed.__exit__(None, None, None)

    def __enter__(self) -> None:
        self.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.leave()

    def _wait(self, timeout: float | None) -> None:
        if self._lock.acquire(blocking=False):
            return
        end = float("inf") if timeout is None else time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            glance = min(left, _GLANCE) if is_main_thread() else left
            if self._lock.acquire(timeout=min(glance, threading.TIMEOUT_MAX)):
                return
            postponed.check()
        raise BusyError(
            f"other threads were at work on the pipeline for {timeout:g} s; nothing was changed. "
            "Try again, or allow a longer `timeout`"
        )


class _Sectioned(Protocol):
    @property
    def section(self) -> CriticalSection: ...


_S = TypeVar("_S", bound=_Sectioned)
_P = ParamSpec("_P")
_R = TypeVar("_R")


def exclusive(method: Callable[Concatenate[_S, _P], _R]) -> Callable[Concatenate[_S, _P], _R]:
    """Return the method, run inside the critical section of its object."""

    @wraps(method)
    def run(engine: _S, /, *args: _P.args, **keywords: _P.kwargs) -> _R:
        with engine.section:
            return method(engine, *args, **keywords)

    return run
