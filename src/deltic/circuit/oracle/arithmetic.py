"""Arithmetic on two values; None where there is no result.

Integers wrap around at their width, but safe operations are undefined there. Floats are IEEE 754's, FLOAT32 rounded
from the result in 64 bits. Decimals are exact, or rounded half away from zero to the scale of the result's type. Times
and intervals beyond the years 1 to 9999 or the bits that an interval has are undefined.
"""

from __future__ import annotations

import math
import operator
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from deltic.circuit.types import Kind, Type
from deltic.circuit.values import LONGEST
from deltic.circuit.values.numbers import EXACT, round_float, to_decimal, wrap

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
    exp.Mod: lambda a, b: _float_remainder(a, b) if b else None,
    exp.Pow: lambda a, b: _float_power(a, b),
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


def calculate(kind: type[exp.Expression], a: Any, b: Any, types: tuple[Type, Type], result: Type) -> Any:
    """What the operator makes of two values of these types, a value of type `result`."""
    if kind in _SAFE:
        return fitting(_SAFE[kind](a, b), result)
    if result.is_integer and types[0].is_integer:
        return _of_integers(kind, a, b, result)
    if kind is exp.IntDiv:
        return fitting(_whole_quotient(a, b), result) if b else None
    if result.is_float:
        return _of_floats(kind, a, b, result)
    if result.kind is Kind.DECIMAL:
        found = _DECIMAL[kind](a, b)
        return None if found is None else to_decimal(found, result)
    if types[0] is types[1] and types[0] not in _INTERVALS:
        return (a - b).days if types[0] is Type.DATE else a - b
    return _moved(a, b if kind is exp.Add else -b, types, result)


def negate(value: Any, type_: Type) -> Any:
    """The value with the other sign."""
    if type_.is_integer:
        return wrap(-value, type_)
    if type_.kind is Kind.DECIMAL:
        return EXACT.minus(value)
    return _within(-value, type_) if type_ in _INTERVALS else -value


def fitting(value: int, type_: Type) -> int | None:
    """The integer if the type has it."""
    least, most = type_.range
    return value if least <= value <= most else None


def _of_integers(kind: type[exp.Expression], a: int, b: int, type_: Type) -> int | None:
    if kind is exp.BitwiseLeftShift:
        return wrap(a << (b & type_.bits - 1), type_)
    if kind is exp.BitwiseRightShift:
        return a >> (b & type_.bits - 1)
    result = _INTEGER[kind](a, b)
    return None if result is None else wrap(result, type_)


def _of_floats(kind: type[exp.Expression], a: float, b: float, type_: Type) -> float | None:
    try:
        result = _FLOAT[kind](a, b)
    except (ArithmeticError, ValueError):
        return None
    return None if result is None else round_float(result, type_)


def _moved(a: Any, b: Any, types: tuple[Type, Type], result: Type) -> Any:
    """A time, moved by days, months or microseconds; or the sum of two intervals."""
    try:
        if types == (Type.DATE, Type.INT32):
            return a + timedelta(days=b)
        if result not in _INTERVALS and types[1] is Type.YEAR_MONTH_INTERVAL:
            return _months_later(a, b)
        return _within(a + b, result)
    except (OverflowError, ValueError):
        return None


def _months_later(time: date, months: int) -> date:
    """The same day of another month, or the last one of that month before it."""
    year, month = divmod(12 * time.year + time.month - 1 + months, 12)
    return time.replace(year=year, month=month + 1, day=min(time.day, monthrange(year, month + 1)[1]))


def _within(value: Any, type_: Type) -> Any:
    """The interval if it is none too long for its type, of 32 bits for months; times as they are."""
    if type_ is Type.YEAR_MONTH_INTERVAL:
        return value if abs(2 * value + 1) < 1 << 32 else None
    if type_ is Type.DAY_TIME_INTERVAL:
        return value if abs(value) <= LONGEST else None
    return value


def _quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _whole_quotient(a: Decimal, b: Decimal) -> int:
    """The quotient of two decimals without its fraction."""
    (m, n), (p, q) = a.as_integer_ratio(), b.as_integer_ratio()
    return _quotient(m * q, n * p)


def _float_remainder(a: float, b: float) -> float:
    return math.nan if math.isinf(a) else math.fmod(a, b)


def _float_power(a: float, b: float) -> float | None:
    result = a**b
    return None if isinstance(result, complex) else result
