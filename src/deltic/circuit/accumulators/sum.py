"""The sum of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.circuit.accumulators.exact import decimal_sum, rounded
from deltic.values.numbers import round_float, to_decimal, wrap
from deltic.values.types import Column, Kind, Type


@accumulator
class Sum(Accumulator):
    """The sum of the values: integers wrap around at their width; floats are added exactly and rounded once.

    A sum of decimals is exact, and NULL where it has more digits than their type.
    """

    name = "sum"

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_numeric

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        (type_,) = types
        if type_.is_float:
            return round_float(rounded(totals, 1), type_)
        if type_.kind is Kind.DECIMAL:
            return to_decimal(decimal_sum(totals), type_)
        return wrap(sum(value * weight for value, weight in totals.items()), type_)

    def is_partial(self, sources: Sequence[Column]) -> bool:
        return sources[0].type.kind is Kind.DECIMAL
