"""The mean of decimals as a decimal."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.circuit.accumulators.checked_sum import overflow, value_or_null
from deltic.circuit.accumulators.exact import decimal_sum
from deltic.values.numbers import EXACT
from deltic.values.types import Column, Kind, Type
from deltic.values.types.value import MAX_PRECISION


@accumulator
class DecimalMean(Accumulator):
    """The exact sum divided by the count, with four more decimal places, rounded half away from zero [Spark, ANSI].

    An error where the result has more than 38 digits.
    """

    name = "decimal_mean"

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].kind is Kind.DECIMAL

    def result(self, types: Sequence[Type]) -> Type:
        (type_,) = types
        return Type.decimal(min(MAX_PRECISION, type_.precision + 4), min(MAX_PRECISION, type_.scale + 4))

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        result = self.result(types)
        total = int(EXACT.scaleb(decimal_sum(totals), types[0].scale))
        unscaled = mean_in_units(total, sum(totals.values()), result.scale - types[0].scale)
        if abs(unscaled) >= 10**result.precision:
            raise overflow("mean", result)
        return EXACT.scaleb(Decimal(unscaled), -result.scale)


@accumulator
class TriedDecimalMean(DecimalMean):
    """`decimal_mean` that is NULL where the result has more than 38 digits [Spark, try_avg]."""

    name = "tried_decimal_mean"

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        return value_or_null(super().value, totals, types, parameters)

    def is_partial(self, sources: Sequence[Column]) -> bool:
        return True


def mean_in_units(total: int, count: int, digits: int) -> int:
    """total / count in units of 10^−digits, rounded half away from zero."""
    doubled, divisor = 2 * abs(total) * 10**digits, 2 * count
    result: int = (doubled + count) // divisor
    return result if total >= 0 else -result
