"""How many different values there are."""

from __future__ import annotations

from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Totals, accumulator
from deltic.circuit.accumulators.min import present
from deltic.circuit.types import Type
from deltic.circuit.values import in_order


@accumulator
class CountDistinct(Accumulator):
    """The number of the values whose weights add up to more than zero; NaN is one value."""

    name = "count_distinct"
    counts = True
    keeps = "all values in order, and how many they are"

    def result(self, type_: Type) -> Type:
        return Type.INT64

    def value(self, totals: Totals, type_: Type) -> Any:
        return len({in_order(value) for value in present(totals)})
