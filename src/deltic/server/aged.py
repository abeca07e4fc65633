"""Cached values that may be a few seconds old."""

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
    """A cached result, at most `seconds` old; while the call raises BusyError, its last result, or `first`."""

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
        """The number of rows of a relation that epoch `last_epoch` was the last to change."""
        known = self._counted.get(name)
        if known is None or known[0] != last_epoch:
            known = self._counted[name] = last_epoch, len(seen[name])
        return known[1]
