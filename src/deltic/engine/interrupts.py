"""Signals while compiled code runs: Python's signal handlers wait for a safe point.

Compiled code creates Python objects when it returns, and does not expect an exception then: a handler that raises one,
such as that of Ctrl-C, would end the process. Handlers only run in the main thread, so other threads are not affected.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from deltic.engine.stopping import check_stopped

# The signals whose handlers may raise an error.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)

# Without the conversion of numbers to enumerations, which each epoch would pay a dozen times.
_handler_of, _handle = _signal.getsignal, _signal.signal

_Handlers = dict[int, Callable[[int, FrameType | None], Any]]


class _Postponed:
    """A reentrant with-block: in the main thread, signal handlers only run in `check`, and at the end."""

    def __init__(self) -> None:
        self._depth = 0
        self._handlers: _Handlers = {}
        self._arrived: dict[int, FrameType | None] = {}
        self._lets_through = False

    def check(self) -> None:
        """Run the handlers of signals that arrived, which may raise a KeyboardInterrupt; or raise StoppedError."""
        if self._arrived and is_main_thread():
            self._deliver(self._handlers)
        check_stopped()

    def __enter__(self) -> None:
        if is_main_thread():
            if not self._depth:
                self._postpone()
            self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if is_main_thread():
            self._depth = max(self._depth - 1, 0)
            if not self._depth:
                handlers = dict(self._handlers)
                self._restore()
                self._deliver(handlers)

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """A block of Python alone, in which handlers may run: a search for a pattern may take long."""
        if not is_main_thread():
            yield
            return
        self._lets_through = True
        try:
            self.check()
            yield
        finally:
            self._lets_through = False

    def forget(self) -> None:
        """Reset in a process that was forked while the main thread was inside."""
        self._depth, self._arrived = 0, {}
        self._restore()

    def _postpone(self) -> None:
        try:
            for number in _SIGNALS:
                handler = _handler_of(number)
                if callable(handler):
                    self._handlers[number] = handler
                    _handle(number, self._note)
        except BaseException:
            self._restore()
            raise

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._arrived[number] = frame
        if self._lets_through:
            self._deliver(self._handlers)

    def _deliver(self, handlers: _Handlers) -> None:
        while self._arrived:
            number, frame = self._arrived.popitem()
            handlers[number](number, frame)

    def _restore(self) -> None:
        """Restore all handlers, also if a restored one runs at once and raises."""
        if self._handlers:
            try:
                _handle(*self._handlers.popitem())
            finally:
                self._restore()


def is_main_thread() -> bool:
    """Return whether this is the thread that runs signal handlers."""
    return threading.get_ident() == threading.main_thread().ident


postponed = _Postponed()
"""The only instance: a process has one main thread."""

os.register_at_fork(after_in_child=postponed.forget)
