"""Window functions: values that a row gets from the rows around it, and the frames that say which rows these are."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from deltic.circuit.accumulators import ACCUMULATORS, Parameter
from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators.aggregate import AggregateCall, aggregated, show_parameter
from deltic.circuit.operators.base import Operator, change_of, delta_of
from deltic.circuit.operators.order import Order, check_parts, show_parts
from deltic.values.types import Column, Kind, Schema, Type
from deltic.values.words import word

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
    """Return the frame of a session: the distance between neighbours is at most `gap`, in the unit of the order's
    column.
    """
    return Frame(Unit.SESSIONS, -gap, gap)


PARTITION = Frame(Unit.ROWS, None, None)
"""All rows of the partition."""
SO_FAR = Frame(Unit.RANGE, None, 0)
"""All rows up to the current one and its peers: SQL's default frame where there is an order."""


RANKS = {
    "row_number": Type.INT32,
    "rank": Type.INT32,
    "dense_rank": Type.INT32,
    "ntile": Type.INT32,
    "percent_rank": Type.FLOAT64,
    "cume_dist": Type.FLOAT64,
}
SHIFTS = ("lag", "lead")
PICKS = ("first_value", "last_value", "nth_value")
NUMBERED = ("ntile", *SHIFTS, "nth_value")
"""Functions with a number as parameter: of buckets, of rows back or ahead, of the row in its frame."""
_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)


@dataclass(frozen=True)
class WindowCall:
    """One window function: the columns that it reads, the name of its result, its constants, and its frame.

    `lag` and `lead` read a column; a second column gives the default where there is no such row. Aggregates and the
    functions that pick a value have a `frame`, the others none. With `ignores_nulls`, rows whose first column is NULL
    are skipped.
    """

    function: str
    columns: tuple[str, ...]
    name: str
    parameters: tuple[Parameter, ...] = ()
    frame: Frame | None = None
    ignores_nulls: bool = False

    @property
    def aggregate(self) -> AggregateCall:
        """The aggregate of the frame's rows."""
        return AggregateCall(self.function, (*self.columns, "")[0], self.name, self.columns[1:], self.parameters)

    @property
    def number(self) -> int:
        """The number parameter of a function that has one, 0 for others."""
        return int(self.parameters[0]) if self.function in NUMBERED else 0

    @property
    def picks(self) -> bool:
        """Whether its results are values of its columns."""
        if self.function in ACCUMULATORS:
            return ACCUMULATORS[self.function].picks
        return self.function in (*SHIFTS, *PICKS)

    @property
    def reach(self) -> tuple[int, int] | None:
        """How many rows before and after a row its value depends on; None where there is no bound."""
        if self.function in SHIFTS and not self.ignores_nulls:
            back = self.number if self.function == "lag" else -self.number
            return max(back, 0), max(-back, 0)
        if self.frame is None or self.frame.unit is not Unit.ROWS:
            return None
        if not isinstance(self.frame.start, int) or not isinstance(self.frame.end, int):
            return None
        return max(-self.frame.start, 0), max(self.frame.end, 0)

    @property
    def gap(self) -> int | None:
        """The greatest distance between neighbours of one session, for a function over sessions; else None."""
        is_session = self.frame is not None and self.frame.unit is Unit.SESSIONS
        return int(self.frame.end) if is_session and self.frame.end is not None else None  # type: ignore[union-attr]

    @property
    def looks_back(self) -> bool:
        """Whether the value of a row is independent of the rows after it and its peers."""
        if self.function in SHIFTS:
            return self.number >= 0 if self.function == "lag" else self.number <= 0
        if self.frame is None or self.frame.unit is not Unit.ROWS:
            return self.function in ("row_number", "rank", "dense_rank")
        return self.frame.end is not None and self.frame.end <= 0

    @property
    def why_unbounded(self) -> str:
        """Why it must read whole partitions, as text for users."""
        if self.function in RANKS:
            return "it counts rows of the whole partition"
        if self.frame is None:
            return "it passes over any number of NULLs"
        return f"its frame, {self.frame}, is not a number of rows"

    def __str__(self) -> str:
        columns = ", ".join(map(word, self.columns)) or "*" * (self.function in ACCUMULATORS)
        constants = "".join(f"; {show_parameter(parameter)}" for parameter in self.parameters)
        parts = [f"{self.function}({columns}{constants})"]
        parts += [str(self.frame)] if self.frame else []
        parts += ["IGNORE NULLS"] * self.ignores_nulls
        return f"{' '.join(parts)} AS {word(self.name)}"


class Over(Operator):
    """Each row with the values of window functions over the rows with equal `keys`, in `order`.

    A row of weight w is w consecutive rows, and a row of negative weight is absent. Rows that are equal in the order
    are peers: they have the same rank. Where peers must be ordered, all columns decide, each ascending with NULL first,
    so that the result is deterministic.
    """

    keys: tuple[str, ...]
    order: tuple[Order, ...]
    calls: tuple[WindowCall, ...]

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        (source,) = self.zsets(inputs, 1)
        check_parts(self, self.keys, self.order, source)
        columns = [*source.schema.columns, *(self._result(call, source) for call in self.calls)]
        if len({column.name for column in columns}) != len(columns):
            self.refuse("its columns must have distinct names", inputs)
        return replace(source, schema=Schema(tuple(columns)))

    def _result(self, call: WindowCall, source: ZSetType) -> Column:
        """Check a call and return its result column."""
        self.check_columns(call.columns, [source])
        columns = [source.schema.column(name) for name in call.columns]
        self._check_number(call, source)
        self._check_frame(call, source)
        if call.function in RANKS:
            self._expect(call, not columns and not call.ignores_nulls, "takes no columns", source)
            return Column(call.name, RANKS[call.function])
        if call.function in SHIFTS:
            self._expect(call, len(columns) in (1, 2), "takes a column, and one for where there is no row", source)
            self._expect(call, len({c.type for c in columns}) == 1, "takes columns of one type", source)
            nullable = len(columns) == 1 or any(c.nullable for c in columns)
            return Column(call.name, columns[0].type, nullable)
        if call.function in PICKS:
            self._expect(call, len(columns) == 1, "takes a column", source)
            always = call.function != "nth_value" and call.frame is not None and call.frame.has_current_row
            return Column(call.name, columns[0].type, columns[0].nullable or not always)
        if call.function not in ACCUMULATORS:
            there = ", ".join((*RANKS, *SHIFTS, *PICKS, *ACCUMULATORS))
            self.refuse(f"there is no window function {call.function}; there are {there}", [source])
        self._expect(call, not call.ignores_nulls, "passes over NULL in any case", source)
        column, counts = aggregated(self, call.aggregate, source), ACCUMULATORS[call.function].counts
        empty = call.frame is not None and not call.frame.has_current_row and not counts
        return replace(column, nullable=column.nullable or empty)

    def _check_number(self, call: WindowCall, source: ZSetType) -> None:
        if call.function in NUMBERED:
            (number,) = call.parameters if len(call.parameters) == 1 else ("",)
            self._expect(call, isinstance(number, int) and not isinstance(number, bool), "takes a number", source)
            self._expect(call, call.function in SHIFTS or call.number > 0, "takes a number above zero", source)
        elif call.function not in ACCUMULATORS:
            self._expect(call, not call.parameters, "takes no constants", source)

    def _check_frame(self, call: WindowCall, source: ZSetType) -> None:
        frame, framed = call.frame, call.function not in (*RANKS, *SHIFTS)
        self._expect(call, (frame is not None) == framed, f"takes {'a' if framed else 'no'} frame", source)
        if frame is None:
            return
        self._expect(call, not frame.is_reversed, f"has a frame that ends before it starts, {frame}", source)
        whole = isinstance(frame.start, int | None) and isinstance(frame.end, int | None)
        if frame.unit in (Unit.ROWS, Unit.GROUPS, Unit.MONTHS):
            self._expect(call, whole, f"has a frame that counts in parts, {frame}", source)
        if frame.unit is Unit.GROUPS:
            self._expect(call, bool(self.order), "has a frame of groups, for which there is no order", source)
        if frame.unit is Unit.SESSIONS:
            self._check_session(call, frame, source)
        elif frame.unit in (Unit.RANGE, Unit.MONTHS) and (frame.start or frame.end):
            self._check_range(call, frame, source)

    def _check_range(self, call: WindowCall, frame: Frame, source: ZSetType) -> None:
        self._expect(call, len(self.order) == 1, "has a frame by values, for which one column is ordered by", source)
        type_ = source.schema.types[self.order[0].column]
        whole = isinstance(frame.start, int | None) and isinstance(frame.end, int | None)
        is_length = type_ in (Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL) and whole
        fits = (type_.kind in _TIMES and whole) or (frame.unit is Unit.RANGE and (type_.is_numeric or is_length))
        self._expect(call, fits, f"has a frame {frame} in the values of a {type_}", source)

    def _check_session(self, call: WindowCall, frame: Frame, source: ZSetType) -> None:
        even = isinstance(frame.start, int) and isinstance(frame.end, int) and frame.start == -frame.end
        self._expect(call, even, f"has a session whose gap is not one number, {frame}", source)
        is_time = len(self.order) == 1 and source.schema.types[self.order[0].column].kind in _TIMES
        self._expect(call, is_time, "has a session, for which one column of dates or times is ordered by", source)

    def _expect(self, call: WindowCall, fits: bool, reason: str, source: ZSetType) -> None:
        if not fits:
            self.refuse(f"{call.function} {reason}", [source])

    def arguments(self) -> str:
        parts = show_parts(self.keys, self.order)
        return f"[{parts}{': ' if parts else ''}{', '.join(map(str, self.calls))}]"


class OverDelta(Over):
    """over(i + d) − over(i), computed on the partitions of d alone; its inputs are i and d."""

    def output(self, inputs: Sequence[EdgeType], depth: int) -> EdgeType:
        return change_of(super().output((delta_of(self, inputs),), depth))
