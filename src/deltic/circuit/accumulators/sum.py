"""Sums and means of the values, also of decimals, and sums in a wider type."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator, register
from deltic.circuit.accumulators.exact import decimal_sum, rounded
from deltic.errors import EvaluationError
from deltic.values.numbers import EXACT, round_float, to_decimal, wrap
from deltic.values.types import Column, Kind, Type
from deltic.values.types.value import MAX_PRECISION


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


class Fitting(Accumulator):
    """A result that may not fit into its type: then NULL if it `is_tried`, and otherwise an error [Spark, ANSI]."""

    def __init__(self, name: str, is_tried: bool) -> None:
        self.name, self._is_tried = name, is_tried

    def is_partial(self, sources: Sequence[Column]) -> bool:
        return self._is_tried


class DecimalMean(Fitting):
    """The exact sum divided by the count, with four more decimal places, rounded half away from zero [Spark, ANSI].

    It has at most 38 digits.
    """

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].kind is Kind.DECIMAL

    def result(self, types: Sequence[Type]) -> Type:
        (type_,) = types
        return Type.decimal(min(MAX_PRECISION, type_.precision + 4), min(MAX_PRECISION, type_.scale + 4))

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        result = self.result(types)
        total = int(EXACT.scaleb(decimal_sum(totals), types[0].scale))
        unscaled = mean_in_units(total, sum(totals.values()), result.scale - types[0].scale)
        if abs(unscaled) < 10**result.precision:
            return EXACT.scaleb(Decimal(unscaled), -result.scale)
        return null_or_error(self._is_tried, "mean", result)


def mean_in_units(total: int, count: int, digits: int) -> int:
    """total / count in units of 10^−digits, rounded half away from zero."""
    doubled, divisor = 2 * abs(total) * 10**digits, 2 * count
    result: int = (doubled + count) // divisor
    return result if total >= 0 else -result


class CheckedSum(Fitting):
    """The sum of integers as int64, of decimals with ten more digits, up to 38."""

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and (types[0].is_integer or types[0].kind is Kind.DECIMAL)

    def result(self, types: Sequence[Type]) -> Type:
        (type_,) = types
        if type_.is_integer:
            return Type.INT64
        return Type.decimal(min(MAX_PRECISION, type_.precision + 10), type_.scale)

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        result = self.result(types)
        if result is Type.INT64:
            total = sum(value * weight for value, weight in totals.items())
            fitting = total if result.range[0] <= total <= result.range[1] else None
        else:
            fitting = to_decimal(decimal_sum(totals), result)
        return null_or_error(self._is_tried, "sum", result) if fitting is None else fitting


register(
    DecimalMean("decimal_mean", is_tried=False),
    DecimalMean("tried_decimal_mean", is_tried=True),
    CheckedSum("checked_sum", is_tried=False),
    CheckedSum("tried_sum", is_tried=True),
)


def null_or_error(is_tried: bool, what: str, type_: Type) -> None:
    """NULL for a result that does not fit into its type, if it `is_tried`; raises EvaluationError otherwise."""
    if not is_tried:
        raise overflow(what, type_)


def overflow(what: str, type_: Type) -> EvaluationError:
    """Return the error for a result that does not fit into its type."""
    return EvaluationError(f"the {what} of a group does not fit into {type_}")
