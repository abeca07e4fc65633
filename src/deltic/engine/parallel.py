"""Threads for large batches: kernels and numpy's sorts run without the interpreter's lock.

No result depends on the order of threads, so results are the same for any number of them. Their cost is measured in
processor time, which does not depend on other work of the machine.
"""

from __future__ import annotations

import contextvars
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Helped:
    """The processor time, in seconds, that threads spent for another one."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    def add(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds


_threads: contextvars.ContextVar[int] = contextvars.ContextVar("threads", default=os.cpu_count() or 1)
_helped: contextvars.ContextVar[_Helped] = contextvars.ContextVar("helped", default=_Helped())  # noqa: B039


def threads() -> int:
    """Return the number of threads to use."""
    return _threads.get()


@contextmanager
def using(count: int) -> Iterator[None]:
    """Use this number of threads in the block, and measure their cost separately."""
    tokens = _threads.set(count), _helped.set(_Helped())
    try:
        yield
    finally:
        _threads.reset(tokens[0])
        _helped.reset(tokens[1])


def processor_time() -> float:
    """Return the processor time of this thread and its helpers, in seconds. Only differences are meaningful."""
    return time.thread_time() + _helped.get().seconds


def run_all(tasks: Sequence[Callable[[], R]]) -> list[R]:
    """Return the results of all tasks, in order. Raises the first error once all threads have ended."""
    if len(tasks) == 1:
        return [tasks[0]()]

    def run(index: int) -> Iterator[tuple[int, R]]:
        yield index, tasks[index]()

    result = dict(stream(range(len(tasks)), run))
    return [result[index] for index in range(len(tasks))]


def stream(items: Sequence[T], work: Callable[[T], Iterator[R]]) -> Iterator[R]:
    """Yield all results of `work` for the items, in no particular order. Threads work one result ahead of the reader.

    An error of any thread is raised here. When this iterator is closed, the threads end at their next result.
    """
    count = min(threads(), len(items)) if len(items) > 1 else 1
    if count <= 1:
        for item in items:
            yield from work(item)
        return
    workers = _Workers(items, work, count)
    try:
        yield from workers.results()
    finally:
        workers.stop()


class _Workers(Generic[T, R]):
    """Threads that take items until there are none. Each puts its results, then None or the error that ended it."""

    def __init__(self, items: Sequence[T], work: Callable[[T], Iterator[R]], count: int) -> None:
        self._items, self._work = iter(items), work
        self._lock = threading.Lock()
        self._queue: queue.Queue[tuple[R] | BaseException | None] = queue.Queue(count)
        self._stopped = threading.Event()
        runs = [partial(contextvars.copy_context().run, self._run) for _ in range(count)]
        self._threads = [threading.Thread(target=run, daemon=True) for run in runs]
        for thread in self._threads:
            thread.start()

    def results(self) -> Iterator[R]:
        """Yield the results of all threads."""
        running = len(self._threads)
        while running:
            result = self._queue.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result[0]

    def stop(self) -> None:
        """Wait for all threads to end. Unread results are dropped."""
        self._stopped.set()
        for thread in self._threads:
            while thread.is_alive():
                try:
                    self._queue.get(timeout=0.01)
                except queue.Empty:
                    continue
            thread.join()

    def _run(self) -> None:
        helped, before = _helped.get(), time.thread_time()
        try:
            while not self._stopped.is_set() and (item := self._next()) is not None:
                for result in self._work(item[0]):
                    before = self._account(helped, before)
                    self._queue.put((result,))
                    if self._stopped.is_set():
                        return
        except BaseException as error:  # noqa: BLE001 - the reader raises it
            self._queue.put(error)
        else:
            self._account(helped, before)
            self._queue.put(None)

    def _account(self, helped: _Helped, before: float) -> float:
        """Add the cost of this thread since `before`, and return the present time."""
        now = time.thread_time()
        helped.add(now - before)
        return now

    def _next(self) -> tuple[T] | None:
        with self._lock:
            return next(((item,) for item in self._items), None)
