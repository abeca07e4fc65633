"""What a window shows at a time, as functions of Z-sets; the interpreters agree on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit.operators import Window
from deltic.values.types import Schema

Rows = ZSet[tuple[Any, ...]]


def latest(*clocks: Rows) -> Rows:
    """The greatest of the clocks' values as a Z-set of one row, none where they have no value."""
    values = [row for clock in clocks for row, _ in clock if row[0] is not None]
    return ZSet.of([max(values)] if values else [])


def within(window: Window, schema: Schema) -> Callable[[tuple[Any, ...], Rows], bool]:
    """Whether a row of the schema is in the window when the time is what `latest` gives; the paper's W by rows."""
    position = schema.index(window.column)

    def is_recent(row: tuple[Any, ...], now: Rows) -> bool:
        start = next((window.begin(time) for (time,), _ in now), None)
        return row[position] is not None and (start is None or row[position] >= start)

    return is_recent


def recent(window: Window, rows: Rows, now: Rows, schema: Schema) -> Rows:
    """The rows in the window when the time is `now`."""
    is_recent = within(window, schema)
    return rows.filter(lambda row: is_recent(row, now))
