"""The sum of integers or decimals in a wider type; a sum that does not fit is an error, or NULL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.circuit.accumulators.exact import decimal_sum
from deltic.errors import EvaluationError
from deltic.values.numbers import to_decimal
from deltic.values.types import Column, Kind, Type
from deltic.values.types.value import MAX_PRECISION


@accumulator
class CheckedSum(Accumulator):
    """The sum of integers as int64, of decimals with ten more digits, up to 38; overflow is an error [Spark, ANSI]."""

    name = "checked_sum"

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
        if fitting is None:
            raise overflow("sum", result)
        return fitting


@accumulator
class TriedSum(CheckedSum):
    """`checked_sum` that is NULL where it does not fit [Spark, try_sum]."""

    name = "tried_sum"

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        return value_or_null(super().value, totals, types, parameters)

    def is_partial(self, sources: Sequence[Column]) -> bool:
        return True


def value_or_null(value: Callable[..., Any], *arguments: Any) -> Any:
    """Call `value`; None where the result does not fit."""
    try:
        return value(*arguments)
    except EvaluationError:
        return None


def overflow(what: str, type_: Type) -> EvaluationError:
    """Return the error for a result that does not fit into its type."""
    return EvaluationError(f"the {what} of a group does not fit into {type_}")
