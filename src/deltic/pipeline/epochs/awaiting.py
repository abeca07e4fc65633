"""Work for which asyncio programs wait without blocking their event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def finished(work: Callable[[], T]) -> T:
    """Return the result of work in a thread. The work always finishes: a task that is cancelled ends after it."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        while not working.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        working.exception()  # what went wrong is not said twice
        raise


class Arrivals:
    """Wakes tasks that wait for an event. Any thread may signal it."""

    def __init__(self) -> None:
        self._waiting: set[Callable[[], object]] = set()

    def tell(self) -> None:
        """Wake all waiting tasks."""
        for wake in tuple(self._waiting):
            wake()

    async def wait(self, has_happened: Callable[[], bool]) -> None:
        """Wait until `has_happened` returns True. It is called after each `tell`."""
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
