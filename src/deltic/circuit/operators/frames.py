"""Frames of window functions: which rows around each one a function sees."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from decimal import Decimal

Distance = int | Decimal | None
"""Backward below zero, forward above; None for as far as the partition goes."""


class Unit(enum.Enum):
    """What distances in a frame count."""

    ROWS = "ROWS"
    RANGE = "RANGE"
    GROUPS = "GROUPS"
    MONTHS = "RANGE MONTHS"
    SESSIONS = "SESSIONS"


@dataclass(frozen=True)
class Frame:
    """The rows from `start` to `end`, both included, seen from a row of an ordered partition.

    ROWS counts rows, GROUPS groups of peers, rows that the order does not tell apart. RANGE counts in the values of the
    one column of the order, days of dates and microseconds of timestamps; in MONTHS of these by the calendar. There the
    current row stands for all its peers, and NULL is near to NULL alone. SESSIONS has all rows that are reached from
    the current one by steps to a neighbour that is at most that far away, in the unit of RANGE and to both sides alike.
    """

    unit: Unit
    start: Distance
    end: Distance

    @property
    def has_distances(self) -> bool:
        """Whether it asks for more than the current row and the ends of the partition."""
        return bool(self.start or self.end)

    @property
    def has_current_row(self) -> bool:
        """Whether it has the row from which it is seen, and so is never empty."""
        return (self.start is None or self.start <= 0) and (self.end is None or self.end >= 0)

    @property
    def is_reversed(self) -> bool:
        """Whether it ends before it starts."""
        return self.start is not None and self.end is not None and self.start > self.end

    def __str__(self) -> str:
        start = _written(self.start, "PRECEDING")
        return f"{self.unit.value} BETWEEN {start} AND {_written(self.end, 'FOLLOWING')}"


def _written(distance: Distance, unbounded: str) -> str:
    if distance is None:
        return f"UNBOUNDED {unbounded}"
    if not distance:
        return "CURRENT ROW"
    return f"{-distance} PRECEDING" if distance < 0 else f"{distance} FOLLOWING"


def session(gap: int) -> Frame:
    """The rows of one session: each is at most `gap`, in the unit of the order's column, from the one before it."""
    return Frame(Unit.SESSIONS, -gap, gap)


PARTITION = Frame(Unit.ROWS, None, None)
"""All rows of the partition."""
SO_FAR = Frame(Unit.RANGE, None, 0)
"""All rows up to the current one and its peers: SQL's own frame where there is an order."""
