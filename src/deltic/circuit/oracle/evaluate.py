"""The meaning of expressions, one row at a time: what every engine must agree with."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp

from deltic.circuit.expressions import cast_type, is_function, operands_of, type_of
from deltic.circuit.functions import evaluate_function
from deltic.circuit.types import Type

_MASK = (1 << 64) - 1

_COMPARE: dict[type[exp.Expression], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
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
    exp.BitwiseLeftShift: lambda a, b: a << (b & 63),
    exp.BitwiseRightShift: lambda a, b: a >> (b & 63),
}
_FLOAT: dict[type[exp.Expression], Callable[[float, float], float | None]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: lambda a, b: a / b if b else None,
    exp.Mod: lambda a, b: math.fmod(a, b) if b else None,
    exp.Pow: lambda a, b: _float_power(a, b),
}


def evaluate(expression: exp.Expression, row: Mapping[str, Any], types: Mapping[str, Type]) -> Any:
    """The value of an expression on one row, None for NULL."""
    if isinstance(expression, exp.Column):
        return row[expression.name]
    if isinstance(expression, exp.Literal):
        return _literal(expression)
    if isinstance(expression, exp.Boolean):
        return bool(expression.this)
    if isinstance(expression, exp.And | exp.Or):
        return _logic(expression, row, types)
    values = [evaluate(child, row, types) for child in operands_of(expression)]
    if isinstance(expression, exp.Is):
        return values[0] is None
    if any(v is None for v in values):
        return None
    return _apply(expression, values, [type_of(child, types) for child in operands_of(expression)])


def wrap(value: int, type_: Type) -> int:
    """An integer reduced to 64 bits, signed or not."""
    value &= _MASK
    return value - (1 << 64) if type_ is Type.INT64 and value >> 63 else value


def convert_number(value: float, source: Type, target: Type) -> int | float | None:
    """A number as another numeric type: bits are kept between integers, floats lose their fraction."""
    if target is Type.FLOAT64:
        return float(value)
    if source is not Type.FLOAT64:
        return wrap(int(value), target)
    low, high = (-(2.0**63), 2.0**63) if target is Type.INT64 else (0.0, 2.0**64)
    return int(value) if low <= value < high else None


def in_order(value: Any) -> Any:
    """What compares as the value does: NaN equals itself and is above every other float, as in SQL."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def _apply(expression: exp.Expression, values: list[Any], types: list[Type]) -> Any:
    kind = type(expression)
    if kind in _COMPARE:
        return _COMPARE[kind](*map(in_order, values))
    if kind in (exp.Least, exp.Greatest):
        return min(values, key=in_order) if kind is exp.Least else max(values, key=in_order)
    if kind is exp.Paren:
        return values[0]
    if kind is exp.Not:
        return not values[0]
    if kind is exp.Neg:
        return -values[0] if types[0] is Type.FLOAT64 else wrap(-values[0], types[0])
    if kind is exp.BitwiseNot:
        return wrap(~values[0], types[0])
    if isinstance(expression, exp.TryCast) and types[0].is_numeric and cast_type(expression).is_numeric:
        return convert_number(values[0], types[0], cast_type(expression))
    if is_function(expression):
        return _function(expression, tuple(values), tuple(types))
    return _arithmetic(kind, values, types[0])


def _arithmetic(kind: type[exp.Expression], values: list[Any], type_: Type) -> Any:
    if type_ is Type.FLOAT64:
        try:
            result = _FLOAT[kind](*values)
            return math.nan if result is not None and math.isnan(result) else result
        except (ArithmeticError, ValueError):
            return None
    result = _INTEGER[kind](*values)
    return None if result is None else wrap(result, type_)


@lru_cache(maxsize=1 << 16)
def _function(expression: exp.Expression, values: tuple[Any, ...], types: tuple[Type, ...]) -> Any:
    """The value of a function of these operands; kept, because a query to DuckDB costs a millisecond."""
    import pyarrow as pa

    arrays = [pa.array([v], t.arrow) for v, t in zip(values, types, strict=True)]
    return evaluate_function(expression, arrays)[0].as_py()


def _logic(expression: exp.Expression, row: Mapping[str, Any], types: Mapping[str, Type]) -> bool | None:
    """Kleene's three-valued AND and OR."""
    decisive = isinstance(expression, exp.Or)
    values = [evaluate(child, row, types) for child in operands_of(expression)]
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _literal(expression: exp.Literal) -> Any:
    if expression.is_string:
        return expression.this
    return int(expression.this) if expression.is_int else float(expression.this)


def _quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _float_power(a: float, b: float) -> float | None:
    result = a**b
    return None if isinstance(result, complex) else result
