"""What is kept of each group, one number to a slot, and how its aggregates are read from that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.types import Schema, Type
from deltic.engine.local.operators import exact_sums as exact
from deltic.engine.local.operators import scalar
from deltic.engine.local.storage.layout import Values
from deltic.program.operators.aggregate import Grouped

ROWS = 0
"""The slot of the number of rows."""

Result = Callable[[npt.NDArray[np.int64]], Values]


class Slots:
    """The slots of a grouping of rows of `schema`, by the column of the rows that they are about.

    `sums` wrap around; `digits` are the first of those of an exact sum; `present` counts the different values, and
    `extremes` hold the least (True) and the greatest (False) of them, as relations do, zero where there is none.
    `results` compute the aggregates, in their order, from totals int64[groups, width].
    """

    def __init__(self, grouping: Grouped, schema: Schema) -> None:
        self.width = ROWS + 1
        self.sums: dict[int, int] = {}
        self.digits: dict[int, int] = {}
        self.present: dict[int, int] = {}
        self.extremes: dict[int, dict[bool, int]] = {}
        types = [column.type for column in schema]
        self.results = [self._result(function, column, types) for function, column in grouping.calls]

    def _result(self, function: str, column: int, types: list[Type]) -> Result:
        """How a call is read from the totals; takes the slots that it needs."""
        if function == "count":
            return lambda totals: totals[:, ROWS]
        if function in ("min", "max"):
            self._take(self.present, column, 1)
            slot = self._take(self.extremes.setdefault(column, {}), function == "min", 1)
            return lambda totals: totals[:, slot]
        if function == "sum" and types[column] is not Type.FLOAT64:
            return _wrapped(self._take(self.sums, column, 1), types[column])
        return _rounded(self._take(self.digits, column, exact.SLOTS), function == "mean")

    def _take(self, taken: dict[Any, int], key: object, count: int) -> int:
        """The first of the key's slots; `count` new ones when it has none."""
        if key not in taken:
            taken[key] = self.width
            self.width += count
        return taken[key]


def _wrapped(slot: int, type_: Type) -> Result:
    word = np.uint64 if type_ is Type.UINT64 else np.int64
    return lambda totals: scalar.stored(np.ascontiguousarray(totals[:, slot]).view(word), type_)


def _rounded(slot: int, is_mean: bool) -> Result:
    def result(totals: npt.NDArray[np.int64]) -> Values:
        divisors = totals[:, ROWS] if is_mean else np.ones(len(totals), np.int64)
        there = totals[:, ROWS] > 0
        found = np.zeros(len(totals), np.float64)
        found[there] = exact.rounded(totals[there, slot : slot + exact.SLOTS], divisors[there])
        return scalar.stored(found, Type.FLOAT64)

    return result
