"""Work that programs of asyncio wait for without blocking their event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import current_thread
from typing import TypeVar

T = TypeVar("T")


async def finished(work: Callable[[], T]) -> T:
    """The result of work in a thread. It always ends: a task that is cancelled meanwhile is so after the work."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        while not working.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        working.exception()  # what went wrong is not said twice
        raise


def current_worker() -> object:
    """The task that runs, or the thread where none does."""
    with suppress(RuntimeError):
        if (task := asyncio.current_task()) is not None:
            return task
    return current_thread()


class Arrivals:
    """Wakes tasks that wait for something to happen; any thread may say that it did."""

    def __init__(self) -> None:
        self._waiting: set[Callable[[], object]] = set()

    def tell(self) -> None:
        """Wake all that wait."""
        for wake in tuple(self._waiting):
            wake()

    async def wait(self, has_happened: Callable[[], bool]) -> None:
        """Wait until something has happened, which is asked whenever somebody tells."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(woken.set)

        self._waiting.add(wake)
        try:
            while not has_happened():
                await woken.wait()
                woken.clear()
        finally:
            self._waiting.discard(wake)
