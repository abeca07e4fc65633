"""The totals of a group, one number to a slot: what accumulators share of them, and how a change adds to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.layout import Column
from deltic.errors import EvaluationError
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Column as Field
from deltic.values.types import Schema, Type

Totals = npt.NDArray[np.int64]  # [groups, slots]
Natural = np.ndarray[Any, Any]  # a column's values as numpy computes with them
Columns = tuple[int, ...]  # of the rows that are grouped

ROWS = 0
"""The slot of the number of rows."""


@dataclass(frozen=True)
class Linear:
    """A sum over the rows of what each of them contributes, times its weight; it takes `width` slots.

    `contribute` gives, for the values of some columns and their types, pairs of a slot (one for all rows, or one for
    each) and the amounts int64[n] that the rows add to it.
    """

    width: int
    contribute: Callable[
        [Sequence[Natural], Sequence[Type]], Sequence[tuple[int | npt.NDArray[np.int64], npt.NDArray[np.int64]]]
    ]


@dataclass
class OrderedSlots:
    """The slots about values that are kept in order; where one stands in a slot, it is as relations hold it, or 0.

    `present` counts the different values, and `size`, where ranks are asked for, the rows; `extremes` are the least
    (True) and the greatest (False). Results of whole groups have one slot, and another that marks which are NULL where
    they may be; those of ranks have three: the result, a value near which it is, and how many rows have lesser ones.
    """

    present: int
    size: int = -1
    extremes: dict[bool, int] = field(default_factory=dict)
    wholes: dict[GroupedAggregate, int] = field(default_factory=dict)
    ranks: dict[GroupedAggregate, int] = field(default_factory=dict)


# How a call's results are read from totals.
Result = Callable[[Totals], Column]
# How an accumulator of columns of the given types takes its slots.
Read = Callable[["Slots", GroupedAggregate, Sequence[Type]], Result]
READS: dict[str, Read] = {}


def reads(*names: str) -> Callable[[Read], Read]:
    """Enter how the accumulators of these names are kept and read."""

    def enter(read: Read) -> Read:
        READS.update(dict.fromkeys(names, read))
        return read

    return enter


class NoResult(Exception):
    """The group at a position has no result where it must have one; the engine adds which one it is."""

    def __init__(self, position: int, error: EvaluationError) -> None:
        super().__init__(position)
        self.position, self.error = position, error


class Slots:
    """The slots of calls on rows of `schema`, by the columns that they are about.

    `counts` are how many rows have no NULL in some columns that may have it; `linear` are the first slots of sums over
    rows without NULL in their columns; `ordered` is about values in order, of rows without NULL in their first column.
    `results` compute the aggregates, in their order, from totals int64[groups, width].
    """

    def __init__(self, calls: Sequence[GroupedAggregate], schema: Schema, interner: Interner) -> None:
        self.width = ROWS + 1
        self.schema, self.interner = schema, interner
        self.counts: dict[Columns, int] = {}
        self.linear: dict[tuple[Columns, Linear], int] = {}
        self.ordered: dict[Columns, OrderedSlots] = {}
        self.results = [self._result(call) for call in calls]

    def _result(self, call: GroupedAggregate) -> Result:
        """How a call is read: what has only NULLs is NULL itself, unless it counts."""
        accumulator = ACCUMULATORS[call.function]
        value = READS[accumulator.like](self, call, [self.schema.columns[c].type for c in call.columns])
        count = self.count([call.columns[i] for i in accumulator.needed(len(call.columns))])
        if accumulator.counts or count == ROWS:
            return value

        def result(totals: Totals) -> Column:
            values, nulls = value(totals)
            nothing = totals[:, count] <= 0
            return values, nothing if nulls is None else nothing | nulls

        return result

    def count(self, columns: Sequence[int]) -> int:
        """The slot of the number of rows without NULL in these columns."""
        nullable = tuple(sorted({c for c in columns if self.schema.columns[c].nullable}))
        return self._take(self.counts, nullable, 1) if nullable else ROWS

    def sum(self, columns: Columns, linear: Linear) -> int:
        """The first slot of a sum."""
        return self._take(self.linear, (columns, linear), linear.width)

    def values(self, columns: Columns) -> OrderedSlots:
        """The slots about the values of these columns, all of which are kept in order."""
        if columns not in self.ordered:
            self.ordered[columns] = OrderedSlots(self._new(1))
        return self.ordered[columns]

    def type_of(self, columns: Columns) -> Type:
        """The type of the values of these columns; of several, of a struct that has them as fields."""
        result = [self.schema.columns[c] for c in columns]
        if len(result) == 1:
            return result[0].type
        return Type.struct(Field(str(i), column.type, i > 0 and column.nullable) for i, column in enumerate(result))

    def extreme(self, columns: Columns, least: bool) -> int:
        """The slot of the least or the greatest value."""
        return self._take(self.values(columns).extremes, least, 1)

    def whole(self, columns: Columns, call: GroupedAggregate) -> int:
        """The slots of the result of a call that reads whole groups, and of whether it is NULL where it may be."""
        return self._take(self.values(columns).wholes, call, 2 if self.is_partial(call) else 1)

    def is_partial(self, call: GroupedAggregate) -> bool:
        """Whether a result may be NULL although there are values."""
        return ACCUMULATORS[call.function].is_partial([self.schema.columns[c] for c in call.columns])

    def rank(self, columns: Columns, call: GroupedAggregate) -> int:
        """The first slot of a call of values at ranks."""
        ordered = self.values(columns)
        if ordered.size < 0:
            ordered.size = self._new(1)
        return self._take(ordered.ranks, call, 3)

    def _take(self, taken: dict[Any, int], key: object, count: int) -> int:
        """The first of the key's slots; `count` new ones when it has none."""
        if key not in taken:
            taken[key] = self._new(count)
        return taken[key]

    def _new(self, count: int) -> int:
        """The first of new slots."""
        self.width += count
        return self.width - count
