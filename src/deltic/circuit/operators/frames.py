"""Frames of window functions: which rows around each one a function sees."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from decimal import Decimal

Distance = int | Decimal | None
"""A distance from the current row: negative is backward, positive forward, None the end of the partition."""


class Unit(enum.Enum):
    """The unit of the distances in a frame."""

    ROWS = "ROWS"
    RANGE = "RANGE"
    GROUPS = "GROUPS"
    MONTHS = "RANGE MONTHS"
    SESSIONS = "SESSIONS"


@dataclass(frozen=True)
class Frame:
    """The rows from `start` to `end`, both included, relative to a row of an ordered partition.

    ROWS counts rows; GROUPS counts groups of peers, which are rows that are equal in the order. RANGE is a distance in
    the one column of the order: days of dates, microseconds of timestamps and days to seconds, months of years to
    months; RANGE MONTHS is in calendar months. With these the current row includes all its peers, and NULL is near only
    to NULL. SESSIONS has all rows that are reached from the current one by steps between neighbours of at most that
    distance, in the unit of RANGE, the same both ways.
    """

    unit: Unit
    start: Distance
    end: Distance

    @property
    def has_distances(self) -> bool:
        """Whether the frame has bounds other than the current row and the ends of the partition."""
        return bool(self.start or self.end)

    @property
    def has_current_row(self) -> bool:
        """Whether it contains the current row, and so is never empty."""
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
    """The frame of a session: the distance between neighbours is at most `gap`, in the unit of the order's column."""
    return Frame(Unit.SESSIONS, -gap, gap)


PARTITION = Frame(Unit.ROWS, None, None)
"""All rows of the partition."""
SO_FAR = Frame(Unit.RANGE, None, 0)
"""All rows up to the current one and its peers: SQL's default frame where there is an order."""
