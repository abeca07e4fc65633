"""Collections of garbage while texts are read and definitions change: most of what these make stays, so they are rarer.

At Python's threshold, of 700 objects, half of the time of a long definition goes into searching what is still in use.
"""

from __future__ import annotations

import gc
import threading
from contextlib import ContextDecorator

OBJECTS = 50_000
"""How many new objects start a collection: some 10 MB."""

_lock = threading.Lock()
_running = 0
_before = 0


class RareCollections(ContextDecorator):
    """As long as someone is within, in any thread, collections are rarer; one who has none keeps none."""

    def __enter__(self) -> None:
        global _running, _before
        with _lock:
            if not _running:
                _before = gc.get_threshold()[0]
                _set(max(_before, OBJECTS) if _before else 0)
            _running += 1

    def __exit__(self, *_: object) -> None:
        global _running
        with _lock:
            _running -= 1
            if not _running:
                _set(_before)


def _set(objects: int) -> None:
    gc.set_threshold(objects, *gc.get_threshold()[1:])
