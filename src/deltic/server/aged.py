"""Values that cost something to know, and may be a little old."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Generic, TypeVar

from deltic.errors import BusyError
from deltic.pipeline.reading.snapshot import Snapshot

T = TypeVar("T")


class Aged(Generic[T]):
    """What a call gives, and gave up to `seconds` ago; while it raises BusyError, what it gave last, or the `first`."""

    def __init__(self, call: Callable[[], T], seconds: float, first: T) -> None:
        self._call, self._seconds = call, seconds
        self._lock = Lock()
        self._value = first
        self._at = float("-inf")

    def __call__(self) -> T:
        with self._lock:
            if time.monotonic() - self._at > self._seconds:
                with suppress(BusyError):
                    self._value, self._at = self._call(), time.monotonic()
            return self._value


class CachedCounts:
    """The numbers of rows of relations, counted again once an epoch has changed them."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int | None, int]] = {}

    def of(self, name: str, last_epoch: int | None, seen: Snapshot) -> int:
        """The rows of a relation, which epoch `last_epoch` has changed last."""
        known = self._counted.get(name)
        if known is None or known[0] != last_epoch:
            known = self._counted[name] = last_epoch, len(seen[name])
        return known[1]
