"""The content of a window at a time, as functions of Z-sets, which the interpreters share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit.operators import Window
from deltic.values.types import Schema

Rows = ZSet[tuple[Any, ...]]


def latest(*clocks: Rows) -> Rows:
    """Return the greatest value of the clocks as a Z-set of one row, empty where they have no value."""
    values = [row for clock in clocks for row, _ in clock if row[0] is not None]
    return ZSet.of([max(values)] if values else [])


def within(window: Window, schema: Schema) -> Callable[[tuple[Any, ...], Rows], bool]:
    """Return a function that decides whether a row of the schema is in the window at a time from `latest`.

    The paper's W by rows.
    """
    position = schema.index(window.column)

    def is_recent(row: tuple[Any, ...], now: Rows) -> bool:
        start = next((window.begin(time) for (time,), _ in now), None)
        return row[position] is not None and (start is None or row[position] >= start)

    return is_recent


def recent(window: Window, rows: Rows, now: Rows, schema: Schema) -> Rows:
    """Return the rows in the window when the time is `now`."""
    is_recent = within(window, schema)
    return rows.filter(lambda row: is_recent(row, now))
