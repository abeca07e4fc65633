"""Arithmetic on two values; None where there is no result.

Integers wrap around at their width, but safe operations are undefined there. Floats are IEEE 754's, FLOAT32 rounded
from the result in 64 bits. Decimals are exact, or rounded half away from zero to the scale of the result's type. Times
and intervals beyond the years 1 to 9999 or the bits that an interval has are undefined.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from deltic.functions.calendar import months_later
from deltic.values import LONGEST
from deltic.values.numbers import EXACT, round_float, to_decimal, wrap
from deltic.values.types import Kind, Type

_INTEGER: dict[type[exp.Expression], Callable[[int, int], int | None]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: lambda a, b: _quotient(a, b) if b else None,
    exp.IntDiv: lambda a, b: _quotient(a, b) if b else None,
    exp.Mod: lambda a, b: a - b * _quotient(a, b) if b else None,
    exp.Pow: lambda a, b: pow(a, b, 1 << 64) if b >= 0 else None,
    exp.BitwiseAnd: operator.and_,
    exp.BitwiseOr: operator.or_,
    exp.BitwiseXor: operator.xor,
}
_FLOAT: dict[type[exp.Expression], Callable[[float, float], float | None]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: lambda a, b: a / b if b else None,
    exp.Mod: lambda a, b: (math.nan if math.isinf(a) else math.fmod(a, b)) if b else None,
    exp.Pow: lambda a, b: _float_power(a, b),
}
# By the bit mask that is applied to the amount of a shift.
_SHIFTS: dict[type[exp.Expression], Callable[[int], Callable[[int, int], int]]] = {
    exp.BitwiseLeftShift: lambda bits: lambda a, b: a << (b & bits),
    exp.BitwiseRightShift: lambda bits: lambda a, b: a >> (b & bits),
}
_SAFE: dict[type[exp.Expression], Callable[[int, int], int]] = {
    exp.SafeAdd: operator.add,
    exp.SafeSubtract: operator.sub,
    exp.SafeMultiply: operator.mul,
}
_DECIMAL: dict[type[exp.Expression], Callable[[Decimal, Decimal], Decimal | None]] = {
    exp.Add: EXACT.add,
    exp.Sub: EXACT.subtract,
    exp.Mul: EXACT.multiply,
    exp.Div: lambda a, b: EXACT.divide(a, b) if b else None,
    exp.Mod: lambda a, b: EXACT.remainder(a, b) if b else None,
}
_INTERVALS = (Type.YEAR_MONTH_INTERVAL, Type.DAY_TIME_INTERVAL)


def arithmetic(kind: type[exp.Expression], types: Sequence[Type], result: Type) -> Callable[[Any, Any], Any]:
    """Return the function that computes the operator on two values of these types; its result has type `result`."""
    left, right = types
    if kind in _SAFE:
        return _then(_SAFE[kind], lambda value: fitting(value, result))
    if left.is_integer and result.is_integer:
        return _then(_SHIFTS[kind](result.bits - 1) if kind in _SHIFTS else _INTEGER[kind], lambda v: wrap(v, result))
    if kind is exp.IntDiv:
        return _then(lambda a, b: _whole_quotient(a, b) if b else None, lambda value: fitting(value, result))
    if result.is_float:
        return _then(_FLOAT[kind], lambda value: round_float(value, result))
    if result.kind is Kind.DECIMAL:
        return _then(_DECIMAL[kind], lambda value: to_decimal(value, result))
    if left is right and left not in _INTERVALS:
        return lambda a, b: (a - b).days if left is Type.DATE else a - b
    return lambda a, b: _moved(a, b if kind is exp.Add else -b, (left, right), result)


def _then(operation: Callable[[Any, Any], Any], finish: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operation followed by `finish`; None where the operation fails or has no value."""

    def compute(a: Any, b: Any) -> Any:
        try:
            value = operation(a, b)
        except (ArithmeticError, ValueError):
            return None
        return None if value is None else finish(value)

    return compute


def negate(value: Any, type_: Type) -> Any:
    """Return the negated value."""
    if type_.is_integer:
        return wrap(-value, type_)
    if type_.kind is Kind.DECIMAL:
        return EXACT.minus(value)
    return _within(-value, type_) if type_ in _INTERVALS else -value


def fitting(value: int, type_: Type) -> int | None:
    """Return the integer if it fits into the type, else None."""
    least, most = type_.range
    return value if least <= value <= most else None


def _moved(a: Any, b: Any, types: tuple[Type, Type], result: Type) -> Any:
    """Return a date or time moved by days, months or microseconds; or the sum of two intervals."""
    try:
        if types == (Type.DATE, Type.INT32):
            return a + timedelta(days=b)
        if result not in _INTERVALS and types[1] is Type.YEAR_MONTH_INTERVAL:
            return months_later(a, b)
        return _within(a + b, result)
    except (OverflowError, ValueError):
        return None


def _within(value: Any, type_: Type) -> Any:
    """Return the interval, or None if it is too long for its type; other values unchanged."""
    if type_ is Type.YEAR_MONTH_INTERVAL:
        return value if abs(2 * value + 1) < 1 << 32 else None
    if type_ is Type.DAY_TIME_INTERVAL:
        return value if abs(value) <= LONGEST else None
    return value


def _quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _whole_quotient(a: Decimal, b: Decimal) -> int:
    """Return the quotient of two decimals without its fraction."""
    (m, n), (p, q) = a.as_integer_ratio(), b.as_integer_ratio()
    return _quotient(m * q, n * p)


def _float_power(a: float, b: float) -> float | None:
    result = a**b
    return None if isinstance(result, complex) else result
