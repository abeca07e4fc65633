"""Recursive functions over deeply nested values: they continue on a larger stack where Python's is too small.

Python's limit is 1,000 calls one in the other, and an expression of 200 levels takes more. What is marked `deep`
depends on its arguments alone, so that it can be computed a second time: in a thread of its own.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from deltic.errors import DelticError

P = ParamSpec("P")
R = TypeVar("R")
Compute = Callable[[], Any]

FRAMES = 200_000
"""How many calls may stand one in the other on the larger stack; Spark takes 2,000 levels at most, of 40 calls each."""
STACK = 1 << 29
"""The bytes of the larger stack, of which the system gives those that are touched: 2.6 KB a call, which takes 0.3."""


class TooDeep(DelticError):
    """The value is nested more deeply than the larger stack holds."""

    message = "this is nested too deeply"
    hint = "divide it among several views"

    def __init__(self) -> None:
        super().__init__(f"{self.message}; {self.hint}")


class _Thread(threading.Thread):
    """Computes on the larger stack; Ctrl-C ends it, as it would in the thread that waits."""

    def __init__(self, compute: Compute) -> None:
        super().__init__(name="deltic-deep", daemon=True)
        self._compute = compute
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        _here.is_deep = True
        try:
            self.value = self._compute()
        except BaseException as error:  # noqa: BLE001  it is raised in the thread that waits
            self.error = error

    def wait(self) -> None:
        """Wait for the end; Ctrl-C ends the computation too."""
        try:
            self.join()
        except KeyboardInterrupt:
            stop = ctypes.py_object(KeyboardInterrupt)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), stop)
            self.join()
            raise

    def result(self) -> Any:
        """Return the result. Raises what the computation raised."""
        if isinstance(self.error, RecursionError):
            raise TooDeep from None
        if self.error is not None:
            raise self.error
        return self.value


_here = threading.local()
_lock = threading.Lock()
_running = 0
_limit = 0


def deep(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a pure function of deeply nested arguments. It raises TooDeep where no stack is large enough."""

    @wraps(function)
    def computed(*args: P.args, **kwargs: P.kwargs) -> R:
        if getattr(_here, "is_deep", False):
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass
        return cast("R", _on_larger_stack(lambda: function(*args, **kwargs)))

    return computed


def _on_larger_stack(compute: Compute) -> Any:
    context = copy_context()
    thread = _Thread(lambda: context.run(compute))
    with _larger_limit():
        _start(thread)
        thread.wait()
    return thread.result()


def _start(thread: _Thread) -> None:
    """Start a thread on its stack. The size of stacks is one for all threads that start."""
    with _lock:
        before = threading.stack_size(STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(before)


@contextmanager
def _larger_limit() -> Iterator[None]:
    """Let Python's limit, which is one for all threads, be the larger one as long as one of them needs it.

    The first call may itself be one too many for the limit: nothing has changed then.
    """
    global _running, _limit
    with _lock:
        if not _running:
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(limit, FRAMES))
            _limit = limit
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running:
                sys.setrecursionlimit(_limit)
