"""The totals of a group, one number to a slot: what accumulators share of them, and how a change adds to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.types import Schema, Type
from deltic.engine.local.storage.interner import Interner
from deltic.engine.local.storage.layout import Column

Totals = npt.NDArray[np.int64]  # [groups, slots]
Natural = np.ndarray[Any, Any]  # a column's values as numpy computes with them

ROWS = 0
"""The slot of the number of rows."""


@dataclass(frozen=True)
class Linear:
    """A sum over the rows of what each of them contributes, times its weight; it takes `width` slots.

    `contribute` gives, for the values of a column and their type, pairs of a slot (one for all rows, or one for each)
    and the amounts int64[n] that the rows add to it.
    """

    width: int
    contribute: Callable[[Natural, Type], Sequence[tuple[int | npt.NDArray[np.int64], npt.NDArray[np.int64]]]]


# How a call's results are read from totals.
Result = Callable[[Totals], Column]
# How an accumulator of a column of the given type takes its slots.
Read = Callable[["Slots", int, Type], Result]
READS: dict[str, Read] = {}


def reads(name: str) -> Callable[[Read], Read]:
    """Enter how the accumulator of that name is kept and read."""
    return lambda read: READS.setdefault(name, read)


class Slots:
    """The slots of calls (function, column, -1 for none) on rows of `schema`, by the column that they are about.

    `counts` are how many values are not NULL, of columns that may be; `linear` are the first slots of sums; `present`
    counts the different values, and `extremes` hold the least (True) and the greatest (False) of them, as relations do,
    zero where there is none. `results` compute the aggregates, in
    their order, from totals int64[groups, width].
    """

    def __init__(self, calls: Sequence[tuple[str, int]], schema: Schema, interner: Interner) -> None:
        self.width = ROWS + 1
        self.schema, self.interner = schema, interner
        self.counts: dict[int, int] = {}
        self.linear: dict[tuple[int, Linear], int] = {}
        self.present: dict[int, int] = {}
        self.extremes: dict[int, dict[bool, int]] = {}
        self.results = [self._result(name, column) for name, column in calls]

    def _result(self, name: str, column: int) -> Result:
        """How a call is read: what has only NULLs is NULL itself, unless it counts."""
        value = READS[name](self, column, self.schema.columns[column].type if column >= 0 else Type.INT64)
        if ACCUMULATORS[name].counts or self.count(column) == ROWS:
            return value
        count = self.count(column)

        def result(totals: Totals) -> Column:
            values, nulls = value(totals)
            nothing = totals[:, count] <= 0
            return values, nothing if nulls is None else nothing | nulls

        return result

    def count(self, column: int) -> int:
        """The slot of the number of values that are not NULL; of rows, for -1."""
        nullable = column >= 0 and self.schema.columns[column].nullable
        return self._take(self.counts, column, 1) if nullable else ROWS

    def sum(self, column: int, linear: Linear) -> int:
        """The first slot of a sum."""
        return self._take(self.linear, (column, linear), linear.width)

    def values(self, column: int) -> int:
        """The slot of the number of different values, all of which are kept in order."""
        self.extremes.setdefault(column, {})
        return self._take(self.present, column, 1)

    def extreme(self, column: int, least: bool) -> int:
        """The slot of the least or the greatest value."""
        self.values(column)
        return self._take(self.extremes[column], least, 1)

    def _take(self, taken: dict[Any, int], key: object, count: int) -> int:
        """The first of the key's slots; `count` new ones when it has none."""
        if key not in taken:
            taken[key] = self.width
            self.width += count
        return taken[key]
