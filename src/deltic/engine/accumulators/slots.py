"""The totals of a group, one number for each slot: how accumulators share slots, and how changes add to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.engine.kernels.results import LEFT, READ, VALUE, results_of
from deltic.engine.kernels.types import Table
from deltic.engine.storage.columns import Column, ColumnBlock
from deltic.engine.storage.interner import Interner
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
    """A sum over the rows of each row's contribution times its weight. It takes `width` slots.

    `contribute` maps the values of some columns and their types to pairs of a slot (one for all rows, or one for each)
    and the amounts int64[n] that the rows add to it. If it is `compiled`, it is what `kernels.totals` calls so.
    """

    width: int
    contribute: Callable[
        [Sequence[Natural], Sequence[Type]], Sequence[tuple[int | npt.NDArray[np.int64], npt.NDArray[np.int64]]]
    ]
    compiled: int = 0


@dataclass
class OrderedSlots:
    """The slots computed from ordered values. A slot with a value has it as stored, or 0.

    `present` counts the distinct values, and `size`, if ranks are needed, the rows; `extremes` are the least (True) and
    the greatest (False). Results of whole groups have one slot, and a second one that marks NULLs if they are nullable.
    Results at ranks have three: the result, a value near it, and the number of rows with smaller values.
    """

    present: int
    size: int = -1
    extremes: dict[bool, int] = field(default_factory=dict)
    wholes: dict[GroupedAggregate, int] = field(default_factory=dict)
    ranks: dict[GroupedAggregate, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """Reads a call's results from totals; `compiled` code reads it if the kind of this row of `kernels.results` says
    so.
    """

    of: Callable[[Totals], Column]
    compiled: tuple[int, ...] = (LEFT, 0, -1, -1, 0, 0)

    @classmethod
    def stored(cls, slot: int) -> Result:
        """Return the value of a slot, as it is."""
        return cls(lambda totals: (totals[:, slot], None), (VALUE, slot, -1, -1, 0, 0))

    def or_null(self, count: int) -> Result:
        """Return the same results, NULL where the number in a slot is not positive."""

        def result(totals: Totals) -> Column:
            values, nulls = self.of(totals)
            nothing = totals[:, count] <= 0
            return values, nothing if nulls is None else nothing | nulls

        kind, slot, counted, _, *others = self.compiled
        return Result(result, (kind, slot, counted, count, *others))


# Allocates the slots of an accumulator of columns with these types.
Read = Callable[["Slots", GroupedAggregate, Sequence[Type]], Result]
READS: dict[str, Read] = {}


def reads(*names: str) -> Callable[[Read], Read]:
    """Register how the accumulators of these names are stored and read."""

    def enter(read: Read) -> Read:
        READS.update(dict.fromkeys(names, read))
        return read

    return enter


class NoResult(Exception):
    """The group at a position has no result where one is required. The engine adds the group's key."""

    def __init__(self, position: int, error: EvaluationError) -> None:
        super().__init__(position)
        self.position, self.error = position, error


class Slots:
    """The slots of calls on rows of `schema`, by columns.

    `counts` are the slots of the numbers of rows without NULL in nullable columns; `linear` are the first slots of sums
    over rows without NULL in their columns; `ordered` has the slots for ordered values, of rows without NULL in their
    first column. `results` compute the aggregates, in order, from totals int64[groups, width].
    """

    def __init__(self, calls: Sequence[GroupedAggregate], schema: Schema, interner: Interner) -> None:
        self.width = ROWS + 1
        self.schema, self.interner = schema, interner
        self.counts: dict[Columns, int] = {}
        self.linear: dict[tuple[Columns, Linear], int] = {}
        self.ordered: dict[Columns, OrderedSlots] = {}
        self.results = [self._result(call) for call in calls]

    @cached_property
    def _reads(self) -> Table:
        """How compiled code reads the results, see `kernels.results`."""
        return np.array([result.compiled for result in self.results], np.int64).reshape(-1, READ.COLUMNS)

    def read(self, totals: Totals) -> ColumnBlock:
        """Return the stored values of each aggregate for groups of these totals.

        Raises NoResult if a group has no value where one is required.
        """
        block = ColumnBlock(len(self.results), len(totals))
        block.nullable[:] = self._reads[:, READ.NULLS] >= 0
        for call in np.flatnonzero(results_of(totals, self._reads, block.into)).tolist():
            block.put(call, *self.results[call].of(totals))
        return block

    def _result(self, call: GroupedAggregate) -> Result:
        """Return how a call is read. Its result is NULL if all values are NULL, unless it counts."""
        accumulator = ACCUMULATORS[call.function]
        value = READS[accumulator.like](self, call, [self.schema.columns[c].type for c in call.columns])
        count = self.count([call.columns[i] for i in accumulator.needed(len(call.columns))])
        return value if accumulator.counts or count == ROWS else value.or_null(count)

    def count(self, columns: Sequence[int]) -> int:
        """Return the slot of the number of rows without NULL in these columns."""
        nullable = tuple(sorted({c for c in columns if self.schema.columns[c].nullable}))
        return self._take(self.counts, nullable, 1) if nullable else ROWS

    def sum(self, columns: Columns, linear: Linear) -> int:
        """Return the first slot of a sum."""
        return self._take(self.linear, (columns, linear), linear.width)

    def values(self, columns: Columns) -> OrderedSlots:
        """Return the slots computed from the values of these columns, which are stored in order."""
        if columns not in self.ordered:
            self.ordered[columns] = OrderedSlots(self._new(1))
        return self.ordered[columns]

    def type_of(self, columns: Columns) -> Type:
        """Return the type of the values of these columns; for several columns, a struct."""
        result = [self.schema.columns[c] for c in columns]
        if len(result) == 1:
            return result[0].type
        return Type.struct(Field(str(i), column.type, i > 0 and column.nullable) for i, column in enumerate(result))

    def extreme(self, columns: Columns, least: bool) -> int:
        """Return the slot of the least or the greatest value."""
        return self._take(self.values(columns).extremes, least, 1)

    def whole(self, columns: Columns, call: GroupedAggregate) -> int:
        """Return the first slot of the result of a call that reads whole groups; a second one marks NULLs if it is
        nullable.
        """
        return self._take(self.values(columns).wholes, call, 2 if self.is_partial(call) else 1)

    def is_partial(self, call: GroupedAggregate) -> bool:
        """Return whether a result may be NULL although there are values."""
        return ACCUMULATORS[call.function].is_partial([self.schema.columns[c] for c in call.columns])

    def rank(self, columns: Columns, call: GroupedAggregate) -> int:
        """Return the first slot of a call of values at ranks."""
        ordered = self.values(columns)
        if ordered.size < 0:
            ordered.size = self._new(1)
        return self._take(ordered.ranks, call, 3)

    def _take(self, taken: dict[Any, int], key: object, count: int) -> int:
        """Return the first of the key's slots. Allocates `count` new ones if it has none."""
        if key not in taken:
            taken[key] = self._new(count)
        return taken[key]

    def _new(self, count: int) -> int:
        """Allocate slots, and return the first one."""
        self.width += count
        return self.width - count
