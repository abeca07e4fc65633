"""The mean of the values."""

from __future__ import annotations

from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Totals, accumulator
from deltic.circuit.accumulators.exact import rounded
from deltic.circuit.types import Type


@accumulator
class Mean(Accumulator):
    """The exact sum by the number of values, rounded once."""

    name = "mean"

    def takes(self, type_: Type) -> bool:
        return type_.is_numeric

    def result(self, type_: Type) -> Type:
        return Type.FLOAT64

    def value(self, totals: Totals, type_: Type) -> Any:
        count = sum(totals.values())
        return rounded(totals, count) if count > 0 else None
