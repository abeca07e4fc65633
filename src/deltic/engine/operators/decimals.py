"""Decimal arithmetic on vectors of integers in units of the last digit: numpy integers if small, else Python's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from deltic.engine.operators.numbers import Array, Result
from deltic.values.types import Kind, Type

# The sum of two smaller numbers fits into 64 bits.
_ROOM = 1 << 62
_EXACT_FLOATS = 1 << 53


def arithmetic(kind: type[exp.Expression], a: Array, b: Array, types: Sequence[Type], result: Type) -> Result:
    """Return the result of an operation on decimals, rounded half away from zero, and where it is undefined."""
    left, right = types
    zero = None
    if kind in (exp.Div, exp.Mod, exp.IntDiv):
        zero = b == 0
        b = np.where(zero, 1, b)
    found, scale = _EXACT[kind](a, b, left.scale, right.scale, result)
    if result.kind is not Kind.DECIMAL:
        low, high = result.range
        outside = (found < low) | (found > high)
        return np.where(outside, 0, found).astype(np.int64), _either(zero, outside)
    values, beyond = fitting(rescaled(found, scale, result.scale), result)
    return values, _either(zero, beyond)


def converted(array: Array, source: Type, target: Type, cuts_first: bool) -> Result:
    """Convert between integers and decimals, rounded half away from zero or truncated; also return where it does not
    fit.

    With `cuts_first`, the fraction is removed before an integer must fit, as in Spark's cast.
    """
    scale = source.scale if source.kind is Kind.DECIMAL else 0
    wide = _small(_wide(array) if array.dtype == np.uint64 else array)
    if target.kind is Kind.DECIMAL:
        return fitting(rescaled(wide, scale, target.scale), target)
    unit = 10**scale
    whole = _cut(_wide(wide) if unit >= _ROOM else wide, unit) if scale else wide
    low, high = target.range
    outside = np.asarray((whole < low) | (whole > high), bool)
    least = low * unit
    if not cuts_first and (wide.dtype == object or least >= -(1 << 63)):
        outside |= np.asarray(wide < least, bool)
    return np.where(outside, 0, whole).astype(target.kind.value), outside


def as_floats(array: Array, source: Type) -> Array | None:
    """Return decimals as the nearest float64; None if that takes more than one division of exact floats."""
    if source.scale > 22 or _most(array) >= _EXACT_FLOATS:
        return None
    floats: Array = array.astype(np.float64) / float(10**source.scale)
    return floats


def fitting(array: Array, type_: Type) -> Result:
    """Return integers in units of the last digit, by numpy if they fit, and where they have too many digits."""
    bound = 10**type_.precision
    if array.dtype != object and bound > _ROOM:
        return array, None
    outside = np.asarray((array >= bound) | (array <= -bound), bool)
    return (np.where(outside, 0, array), outside) if outside.any() else (array, None)


def rescaled(array: Array, scale: int, target: int) -> Array:
    """Return the numbers at another scale, rounded half away from zero."""
    if target >= scale:
        return _product(array, 10 ** (target - scale)) if target > scale else array
    factor = 10 ** (scale - target)
    array = _wide(array) if factor >= _ROOM else _small(array)
    size = abs(array)
    rounded = size // factor + (2 * (size % factor) >= factor)
    result: Array = np.where(array < 0, -rounded, rounded)
    return result


def quotient(a: Array, b: Array) -> Array:
    """Return the quotients of integers, rounded half away from zero by adding half of the divisor."""
    a, b = (_small(a), _small(b)) if 2 * _most(a) + _most(b) < _ROOM else (_wide(a), _wide(b))
    size = (2 * abs(a) + abs(b)) // (2 * abs(b))
    result: Array = np.where((a < 0) == (b < 0), size, -size)
    return result


def _is_plain(array: Array) -> bool:
    return bool(array.dtype != object)


def _most(array: Array) -> int:
    """Return the greatest magnitude."""
    return max(int(array.max()), -int(array.min())) if len(array) else 0


def _wide(array: Array) -> Array:
    return array.astype(object) if _is_plain(array) else array


def _small(array: Array) -> Array:
    """Return numpy integers if the numbers are small, else Python's."""
    return array.astype(np.int64 if _most(array) < _ROOM else object)


def _product(a: Array, b: Any) -> Array:
    factor = _most(b) if isinstance(b, np.ndarray) else b
    if factor < _ROOM and _most(a) * factor < _ROOM:
        result: Array = _small(a) * (_small(b) if isinstance(b, np.ndarray) else b)
        return result
    wide: Array = _wide(a) * (_wide(b) if isinstance(b, np.ndarray) else b)
    return wide


def _sum(a: Array, b: Array, sign: int) -> Array:
    a, b = (_small(a), _small(b)) if _most(a) + _most(b) < _ROOM else (_wide(a), _wide(b))
    result: Array = a + sign * b
    return result


def _cut(a: Array, b: Any) -> Array:
    """Return the quotient without its fraction."""
    size = abs(a) // abs(b)
    result: Array = np.where((a < 0) == (b < 0), size, -size)
    return result


def _same(a: Array, b: Array, left: int, right: int) -> tuple[Array, Array, int]:
    scale = max(left, right)
    return rescaled(a, left, scale), rescaled(b, right, scale), scale


def _added(sign: int) -> Callable[[Array, Array, int, int, Type], tuple[Array, int]]:
    def add(a: Array, b: Array, left: int, right: int, result: Type) -> tuple[Array, int]:
        a, b, scale = _same(a, b, left, right)
        return _sum(a, b, sign), scale

    return add


def _multiplied(a: Array, b: Array, left: int, right: int, result: Type) -> tuple[Array, int]:
    return _product(a, b), left + right


def _divided(a: Array, b: Array, left: int, right: int, result: Type) -> tuple[Array, int]:
    return quotient(rescaled(a, left, result.scale + right), b), result.scale


def _whole(a: Array, b: Array, left: int, right: int, result: Type) -> tuple[Array, int]:
    a, b, _ = _same(a, b, left, right)
    return _cut(a, b), 0


def _rest(a: Array, b: Array, left: int, right: int, result: Type) -> tuple[Array, int]:
    a, b, scale = _same(a, b, left, right)
    size = abs(a) % abs(b)
    return np.where(a < 0, -size, size), scale


_EXACT: dict[type[exp.Expression], Callable[[Array, Array, int, int, Type], tuple[Array, int]]] = {
    exp.Add: _added(1),
    exp.Sub: _added(-1),
    exp.Mul: _multiplied,
    exp.Div: _divided,
    exp.IntDiv: _whole,
    exp.Mod: _rest,
}


def _either(first: Array | None, second: Array | None) -> Array | None:
    if first is None or second is None:
        return second if first is None else first
    either: Array = first | second
    return either
