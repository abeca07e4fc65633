"""Progress of work that takes minutes: steps such as "reading sale" and "computing takings", as they begin and end.

`watch_progress` calls a function with each step of this thread. The logger `deltic.progress` has one INFO record for
each step that took a second or more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from deltic.errors import count_of

_LOG = logging.getLogger("deltic.progress")
_LONG = 1.0


@dataclass(frozen=True)
class Progress:
    """A step: its name, the rows read or visited so far, and its seconds so far."""

    step: str
    rows: int = 0
    seconds: float = 0.0
    is_done: bool = False

    def __str__(self) -> str:
        rows = f": {count_of(self.rows, 'row')}" if self.rows else ""
        return f"{self.step}{rows}, {self.seconds:.1f} s" if self.is_done else f"{self.step}{rows}"


Watcher = Callable[[Progress], object]
_WATCHER: ContextVar[Watcher | None] = ContextVar("deltic_progress", default=None)


@contextmanager
def watch_progress(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` with the Progress of each step of this block: `with deltic.watch_progress(print): …`.

    An error of the watcher is one of the work, which is undone.
    """
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def step_began(step: str, rows: int = 0) -> None:
    """Report that a step began, or how many rows it has read."""
    if (watcher := _WATCHER.get()) is not None:
        watcher(Progress(step, rows))


def step_ended(step: str, rows: int, seconds: float) -> None:
    """Report that a step ended."""
    watcher = _WATCHER.get()
    if watcher is None and seconds < _LONG:
        return
    done = Progress(step, rows, seconds, is_done=True)
    if seconds >= _LONG:
        _LOG.info("%s", done, extra={"deltic": {"step": step, "rows": rows, "seconds": round(seconds, 3)}})
    if watcher is not None:
        watcher(done)
