"""Where an engine works on its state: one thread at a time, and handlers of signals wait for a safe place.

Compiled code makes Python objects when it returns, and does not expect an exception then: a handler that raises one, as
that of Ctrl-C does, would end the process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from functools import wraps
from types import FrameType, TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from deltic.errors import DelticError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class CriticalSection:
    """For with-blocks; raises DelticError when another thread is inside. One thread may enter it again and again.

    Python's handlers of SIGINT and SIGTERM are called by `check`, and at the end for what arrived after the last one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._depth = 0
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._arrived: dict[int, FrameType | None] = {}

    def check(self) -> None:
        """Call the handlers of signals that arrived: here a KeyboardInterrupt is raised."""
        if self._arrived:
            self._deliver(self._handlers)

    def __enter__(self) -> None:
        thread = threading.get_ident()
        if self._owner != thread:
            self._begin(thread)
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self._lock.release()
            handlers = dict(self._handlers)
            self._restore()
            self._deliver(handlers)

    def _begin(self, thread: int) -> None:
        if self._lock.locked():
            raise _in_use()
        try:
            if threading.current_thread() is threading.main_thread():
                self._defer()
            if not self._lock.acquire(blocking=False):
                raise _in_use()
        except BaseException:
            self._restore()
            raise
        self._owner = thread

    def _defer(self) -> None:
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._arrived[number] = frame

    def _deliver(self, handlers: dict[int, Callable[[int, FrameType | None], Any]]) -> None:
        while self._arrived:
            number, frame = self._arrived.popitem()
            handlers[number](number, frame)

    def _restore(self) -> None:
        """Put back the handlers, the last one too when one is called at once and raises."""
        if self._handlers and threading.current_thread() is threading.main_thread():
            try:
                signal.signal(*self._handlers.popitem())
            finally:
                self._restore()


def _in_use() -> DelticError:
    return DelticError("the pipeline is in use by another thread; nothing was changed. Let one thread use it at a time")


class _Sectioned(Protocol):
    @property
    def section(self) -> CriticalSection: ...


_S = TypeVar("_S", bound=_Sectioned)
_P = ParamSpec("_P")
_R = TypeVar("_R")


def exclusive(method: Callable[Concatenate[_S, _P], _R]) -> Callable[Concatenate[_S, _P], _R]:
    """The method, run inside the critical section of its object."""

    @wraps(method)
    def run(engine: _S, /, *args: _P.args, **keywords: _P.kwargs) -> _R:
        with engine.section:
            return method(engine, *args, **keywords)

    return run
