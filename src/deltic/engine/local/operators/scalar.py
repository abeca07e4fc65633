"""Expressions over whole columns: the closed core by numpy, functions by DuckDB over Arrow.

A column's values are numpy arrays: int64, uint64, float64 or bool; text as interned ids, int64. The
second array of a result marks its NULLs; None means that there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from deltic.circuit.expressions import cast_type, is_function, operands_of, type_of
from deltic.circuit.functions import evaluate_function
from deltic.circuit.types import Type
from deltic.engine.local.storage.codec import Interner, decode, order_floats, unorder_floats
from deltic.engine.local.storage.layout import Values

Array = np.ndarray[Any, Any]
Nulls = np.ndarray[Any, np.dtype[np.bool_]] | None
Result = tuple[Array, Nulls]

_SIGN = np.int64(-(2**63))

_COMPARE: dict[type[exp.Expression], Callable[[Any, Any], Any]] = {
    exp.EQ: np.equal,
    exp.NEQ: np.not_equal,
    exp.LT: np.less,
    exp.LTE: np.less_equal,
    exp.GT: np.greater,
    exp.GTE: np.greater_equal,
}
_ORDERING = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_DIRECT: dict[type[exp.Expression], Callable[..., Any]] = {
    exp.Add: np.add,
    exp.Sub: np.subtract,
    exp.Mul: np.multiply,
    exp.BitwiseAnd: np.bitwise_and,
    exp.BitwiseOr: np.bitwise_or,
    exp.BitwiseXor: np.bitwise_xor,
}


@dataclass(frozen=True)
class Columns:
    """The columns that expressions read: int64 values as relations hold them, by name, with their types."""

    values: Mapping[str, Values]
    types: Mapping[str, Type]
    count: int
    interner: Interner


def evaluate(expression: exp.Expression, columns: Columns) -> Result:
    """The values of an expression on all rows, and where it is NULL."""
    if isinstance(expression, exp.Column):
        return natural(columns.values[expression.name], columns.types[expression.name]), None
    if isinstance(expression, exp.Literal | exp.Boolean):
        return _constant(expression, columns), None
    operands = operands_of(expression)
    results = [evaluate(operand, columns) for operand in operands]
    types = [type_of(operand, columns.types) for operand in operands]
    if isinstance(expression, exp.And | exp.Or):
        return _logic(isinstance(expression, exp.Or), results)
    if isinstance(expression, exp.Is):
        nulls = results[0][1]
        return (nulls if nulls is not None else np.zeros(columns.count, bool)), None
    with np.errstate(all="ignore"):
        return _apply(expression, results, types, columns)


def keep(conditions: tuple[exp.Expression, ...], columns: Columns) -> Array:
    """Where all conditions are true: bool[n]."""
    mask = np.ones(columns.count, bool)
    for condition in conditions:
        values, nulls = evaluate(condition, columns)
        mask &= values
        if nulls is not None:
            mask &= ~nulls
    return mask


def natural(values: Values, type_: Type) -> Array:
    """Values as relations hold them, in the form that numpy computes with."""
    if type_ is Type.UINT64:
        return (values ^ _SIGN).view(np.uint64)
    if type_ is Type.FLOAT64:
        return unorder_floats(values)
    return values.astype(bool) if type_ is Type.BOOLEAN else values


def stored(array: Array, type_: Type) -> Values:
    """The inverse of `natural`."""
    if type_ is Type.UINT64:
        return array.astype(np.uint64).view(np.int64) ^ _SIGN
    if type_ is Type.FLOAT64:
        return order_floats(array.astype(np.float64))
    return array.astype(np.int64)


def _constant(expression: exp.Expression, columns: Columns) -> Array:
    if isinstance(expression, exp.Boolean):
        return np.full(columns.count, bool(expression.this))
    if expression.is_string:
        return np.full(columns.count, columns.interner.encode(pa.array([expression.this]))[0])
    if expression.is_int:
        value = int(expression.this) % (1 << 64)
        return np.full(columns.count, value, np.uint64).view(np.int64)
    return np.full(columns.count, float(expression.this))


def _logic(decisive: bool, results: list[Result]) -> Result:
    """Kleene's AND (decisive: False) and OR (decisive: True)."""
    (a, a_null), (b, b_null) = results
    if a_null is None and b_null is None:
        return (a | b if decisive else a & b), None
    a_null = np.zeros(len(a), bool) if a_null is None else a_null
    b_null = np.zeros(len(b), bool) if b_null is None else b_null
    decided = ((a == decisive) & ~a_null) | ((b == decisive) & ~b_null)
    return (decided if decisive else ~decided), (a_null | b_null) & ~decided


def _apply(expression: exp.Expression, results: list[Result], types: list[Type], columns: Columns) -> Result:
    arrays = [array for array, _ in results]
    nulls = _any(*(n for _, n in results))
    kind = type(expression)
    if kind in _ORDERING and types[0] is Type.STRING:
        return _COMPARE[kind](*map(columns.interner.order.of, arrays)), nulls
    if kind in _COMPARE:
        return _COMPARE[kind](*(_in_order(a, types[0]) for a in arrays)), nulls
    if kind is exp.Paren:
        return arrays[0], nulls
    if kind in (exp.Least, exp.Greatest):
        return _extreme(kind is exp.Least, arrays, types[0], columns), nulls
    if kind is exp.Not:
        return ~arrays[0], nulls
    if kind is exp.Neg:
        return (np.zeros_like(arrays[0]) - arrays[0] if types[0].is_integer else -arrays[0]), nulls
    if kind is exp.BitwiseNot:
        return ~arrays[0], nulls
    if isinstance(expression, exp.TryCast) and types[0].is_numeric and cast_type(expression).is_numeric:
        values, undefined = _convert(arrays[0], types[0], cast_type(expression))
        return values, _any(nulls, undefined)
    if is_function(expression):
        return _function(expression, results, types, columns)
    values, undefined = _arithmetic(kind, arrays[0], arrays[1], types[0])
    return values, _any(nulls, undefined)


def _any(*nulls: Nulls) -> Nulls:
    found = [n for n in nulls if n is not None]
    return np.logical_or.reduce(found) if found else None


def _extreme(least: bool, arrays: list[Array], type_: Type, columns: Columns) -> Array:
    if type_ is Type.STRING:
        order = columns.interner.order
        return order.ids((np.minimum if least else np.maximum).reduce([order.of(a) for a in arrays]))
    array: Array = (np.minimum if least else np.maximum).reduce([_in_order(a, type_) for a in arrays])
    return unorder_floats(array) if type_ is Type.FLOAT64 else array


def _in_order(array: Array, type_: Type) -> Array:
    """What compares as the values do: NaN equals itself and is above every other float, as in SQL."""
    return order_floats(array) if type_ is Type.FLOAT64 else array


def _convert(array: Array, source: Type, target: Type) -> Result:
    """A numeric cast: bits are kept between integers, floats lose their fraction, NULL where out of range."""
    if target is source:
        return array, None
    if target is Type.FLOAT64:
        return array.astype(np.float64), None
    if source is not Type.FLOAT64:
        return array.view(np.int64 if target is Type.INT64 else np.uint64), None
    low, high = (-(2.0**63), 2.0**63) if target is Type.INT64 else (0.0, 2.0**64)
    inside = (array >= low) & (array < high)
    whole = np.where(inside, array, 0.0)
    return whole.astype(np.int64 if target is Type.INT64 else np.uint64), ~inside


def _arithmetic(kind: type[exp.Expression], a: Array, b: Array, type_: Type) -> Result:
    if kind in _DIRECT:
        return _DIRECT[kind](a, b), None
    if kind in (exp.BitwiseLeftShift, exp.BitwiseRightShift):
        amount = b & b.dtype.type(63)
        return (a << amount if kind is exp.BitwiseLeftShift else a >> amount), None
    if type_ is Type.FLOAT64:
        return _float_arithmetic(kind, a, b)
    if kind is exp.Pow:
        return _power(a, b), (b < 0) if type_ is Type.INT64 else None
    zero = b == 0
    divisor = np.where(zero, b.dtype.type(1), b)
    quotient = _quotient(a, divisor)
    return (a - quotient * divisor if kind is exp.Mod else quotient), zero


def _float_arithmetic(kind: type[exp.Expression], a: Array, b: Array) -> Result:
    if kind is exp.Pow:
        result = np.power(a, b)
        return result, ~np.isfinite(result) & np.isfinite(a) & np.isfinite(b)
    zero = b == 0
    divisor = np.where(zero, 1.0, b)
    if kind is exp.Mod:
        return np.fmod(a, divisor), zero
    return a / divisor, zero


def _quotient(a: Array, b: Array) -> Array:
    """Integer division that truncates toward zero and wraps around."""
    if a.dtype == np.uint64:
        quotient: Array = a // b
        return quotient
    floor = np.where(b == -1, np.zeros_like(a) - a, np.floor_divide(a, np.where(b == -1, 1, b)))
    inexact = (floor * b != a) & ((a < 0) != (b < 0))
    return np.where(b == -1, floor, floor + inexact)


def _power(a: Array, b: Array) -> Array:
    """Integer powers by squaring, modulo 2⁶⁴."""
    result = np.ones_like(a)
    base, exponent = a.copy(), np.where(b < 0, 0, b).astype(np.uint64)
    while exponent.any():
        result = np.where(exponent & np.uint64(1), result * base, result)
        base = base * base
        exponent >>= np.uint64(1)
    return result


def _function(expression: exp.Expression, results: list[Result], types: list[Type], columns: Columns) -> Result:
    """A function by DuckDB, NULL where an operand is."""
    operands = []
    for (array, nulls), type_ in zip(results, types, strict=True):
        column = decode(stored(array, type_), type_, columns.interner)
        operands.append(column if nulls is None else pc.if_else(pa.array(~nulls), column, pa.scalar(None, column.type)))
    type_ = type_of(expression, columns.types)
    found = evaluate_function(expression, operands, type_)
    undefined = found.is_null().to_numpy(zero_copy_only=False) if found.null_count else None
    if type_ is Type.STRING:
        return columns.interner.encode(found.fill_null("")), undefined
    values = found.fill_null(pa.scalar(0, pa.int64()).cast(found.type)) if found.null_count else found
    return values.to_numpy(zero_copy_only=False), undefined
