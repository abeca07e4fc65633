"""The mean of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.circuit.accumulators.exact import rounded
from deltic.values.types import Type


@accumulator
class Mean(Accumulator):
    """The exact sum divided by the number of values, rounded once."""

    name = "mean"

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_numeric

    def result(self, types: Sequence[Type]) -> Type:
        return Type.FLOAT64

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        return rounded(totals, sum(totals.values()))
