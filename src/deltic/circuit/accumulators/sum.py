"""The sum of the values."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Totals, accumulator
from deltic.circuit.accumulators.exact import rounded
from deltic.circuit.types import Column, Kind, Type
from deltic.circuit.values.numbers import EXACT, round_float, to_decimal, wrap


@accumulator
class Sum(Accumulator):
    """Of integers it wraps around at their width; of floats it is exact, rounded once.

    Of decimals it is exact, and NULL where it has more digits than their type.
    """

    name = "sum"

    def takes(self, type_: Type) -> bool:
        return type_.is_numeric

    def value(self, totals: Totals, type_: Type) -> Any:
        if type_.is_float:
            return round_float(rounded(totals, 1), type_)
        if type_.kind is Kind.DECIMAL:
            terms = (EXACT.multiply(value, weight) for value, weight in totals.items())
            return to_decimal(reduce(EXACT.add, terms), type_)
        return wrap(sum(value * weight for value, weight in totals.items()), type_)

    def column(self, name: str, source: Column | None) -> Column:
        column = super().column(name, source)
        return replace(column, nullable=column.nullable or column.type.kind is Kind.DECIMAL)
