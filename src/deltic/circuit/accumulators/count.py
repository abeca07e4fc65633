"""The number of values or of distinct values; without a column, the number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.circuit.accumulators.extreme import present
from deltic.values import in_order
from deltic.values.types import Type


@accumulator
class Count(Accumulator):
    """The sum of the weights; of several columns, the number of rows in which none is NULL."""

    name = "count"
    needs_column = False
    counts = True

    def takes(self, types: Sequence[Type]) -> bool:
        return True

    def result(self, types: Sequence[Type]) -> Type:
        return Type.INT64

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        return sum(totals.values())


@accumulator
class CountDistinct(Accumulator):
    """The number of distinct values whose total weight is positive; all NaNs are one value."""

    name = "count_distinct"
    counts = True
    of_sets = True
    keeps = "all values in order, and how many they are"

    def result(self, types: Sequence[Type]) -> Type:
        return Type.INT64

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        return len({in_order(value) for value in present(totals)})
