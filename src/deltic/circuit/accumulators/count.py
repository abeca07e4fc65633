"""How many values there are; without a column, how many rows."""

from __future__ import annotations

from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Totals, accumulator
from deltic.circuit.types import Type


@accumulator
class Count(Accumulator):
    """The sum of the weights."""

    name = "count"
    needs_column = False
    counts = True

    def result(self, type_: Type) -> Type:
        return Type.INT64

    def value(self, totals: Totals, type_: Type) -> Any:
        return sum(totals.values())
