"""Memory, disk space and rows of a pipeline, for monitoring: cached values that may be a few seconds old."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from deltic.errors import BusyError
from deltic.pipeline.durability.status import Status, status_of
from deltic.pipeline.epochs.snapshot import Snapshot
from deltic.pipeline.session import Pipeline

T = TypeVar("T")

_PATIENCE = 0.05
"""Seconds for which sizes wait for the epoch that is run."""


def sizes_of(pipeline: Pipeline) -> dict[str, int]:
    """Return the bytes of memory of each table and view, with their shares of hidden relations; raises BusyError."""
    result, views = Counter[str](), pipeline.views_by_relation()
    for row in pipeline.sizes(timeout=_PATIENCE):
        owners = views.get(row.relation, (row.relation,))
        for owner in owners:
            result[owner] += row.bytes // len(owners)
    return dict(result)


def disk_of(pipeline: Pipeline) -> Status | None:
    """Return the state's files on the local disk; None where it has none there."""
    place = pipeline.place
    return None if place is None or not Path(place).is_dir() else status_of(place)


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
        """Return the number of rows of a relation that epoch `last_epoch` was the last to change."""
        known = self._counted.get(name)
        if known is None or known[0] != last_epoch:
            known = self._counted[name] = last_epoch, len(seen[name])
        return known[1]
