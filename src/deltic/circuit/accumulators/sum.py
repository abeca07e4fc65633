"""The sum of the values."""

from __future__ import annotations

from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Totals, accumulator
from deltic.circuit.accumulators.exact import rounded
from deltic.circuit.types import Type
from deltic.circuit.values.numbers import wrap


@accumulator
class Sum(Accumulator):
    """Of whole numbers it wraps around at 64 bits; of floats it is exact, rounded once."""

    name = "sum"

    def takes(self, type_: Type) -> bool:
        return type_.is_numeric

    def value(self, totals: Totals, type_: Type) -> Any:
        if type_ is Type.FLOAT64:
            return rounded(totals, 1)
        return wrap(sum(value * weight for value, weight in totals.items()), type_)
