"""Periodic work in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread


class Repeating:
    """Calls a function every `seconds` seconds until `close`."""

    def __init__(self, work: Callable[[], None], seconds: float, name: str) -> None:
        self._work, self._seconds = work, seconds
        self._ended = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop calling it."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            self._work()
