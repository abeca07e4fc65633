"""Numbers in numpy's representation: integers in their own width, decimals as integers in units of the last digit.

The result of an expression on columns are values and a NULL mask. Values at NULLs are arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deltic.engine.storage.codec import encode, order_floats, order_singles, unorder_floats, unorder_singles
from deltic.engine.storage.columns import Nulls, Values
from deltic.engine.storage.interner import Interner, is_wide, of_words, words_of
from deltic.engine.storage.value_order import LARGE
from deltic.values.types import Kind, Type

Array = np.ndarray[Any, Any]
Result = tuple[Array, Nulls]

_SIGN = np.int64(-(2**63))
_LOW = (1 << 64) - 1
_SAFE: dict[type[exp.Expression], Callable[..., Any]] = {
    exp.SafeAdd: np.add,
    exp.SafeSubtract: np.subtract,
    exp.SafeMultiply: np.multiply,
}
_DIRECT: dict[type[exp.Expression], Callable[..., Any]] = {
    exp.Add: np.add,
    exp.Sub: np.subtract,
    exp.Mul: np.multiply,
    exp.BitwiseAnd: np.bitwise_and,
    exp.BitwiseOr: np.bitwise_or,
    exp.BitwiseXor: np.bitwise_xor,
}


def natural(values: Values, type_: Type, interner: Interner) -> Array:
    """Return stored values in numpy's representation. Ids stay the same.

    Decimals become Python integers if one of them is too large for numpy's.
    """
    match type_.kind:
        case Kind.UINT64:
            return (values ^ _SIGN).view(np.uint64)
        case Kind.FLOAT64:
            return unorder_floats(values)
        case Kind.FLOAT32:
            return unorder_singles(values)
        case Kind.DECIMAL if is_wide(type_) and (values >= LARGE).any():
            return _whole_numbers(interner[type_].decode(values))
        case _:
            return values.astype(dtype_of(type_), copy=False)


def stored(array: Array, type_: Type, interner: Interner) -> Values:
    """Return the inverse of `natural`."""
    match type_.kind:
        case Kind.UINT64:
            return array.astype(np.uint64).view(np.int64) ^ _SIGN
        case Kind.FLOAT64:
            return order_floats(array.astype(np.float64))
        case Kind.FLOAT32:
            with np.errstate(over="ignore"):  # to infinity
                return order_singles(array.astype(np.float32))
        case Kind.DECIMAL if array.dtype == object or (is_wide(type_) and (abs(array) >= LARGE).any()):
            return encode(_arrow_decimals(array, type_), type_, interner)[0]
        case _:
            return array.astype(np.int64, copy=False)


def _arrow_decimals(array: Array, type_: Type) -> pa.Array:
    """Return integers in units of the last digit as Arrow decimals, in two words."""
    if array.dtype != object:
        return of_words(array, array >> 63, type_)
    low = np.array([n & _LOW for n in array.tolist()], np.uint64).view(np.int64)
    return of_words(low, (array >> 64).astype(np.int64), type_)


def _whole_numbers(column: pa.Array) -> Array:
    """Return the inverse of `_arrow_decimals`."""
    low, high = words_of(column)
    result: Array = (high.astype(object) << 64) | low.copy().view(np.uint64).astype(object)
    return result


def dtype_of(type_: Type) -> np.dtype[Any]:
    """Return the numpy type of `natural` values."""
    if type_.is_integer or type_.is_float:
        return np.dtype(type_.kind.value)
    return np.dtype(bool if type_ is Type.BOOLEAN else np.int64)


def in_order(array: Array, type_: Type) -> Array:
    """Return values that compare as in SQL: NaN equals itself and is above every other float."""
    if type_ is Type.FLOAT64:
        return order_floats(array)
    return order_singles(array) if type_ is Type.FLOAT32 else array


def from_order(array: Array, type_: Type) -> Array:
    """Return the inverse of `in_order`."""
    if type_ is Type.FLOAT64:
        return unorder_floats(array)
    return unorder_singles(array) if type_ is Type.FLOAT32 else array


def safe_arithmetic(kind: type[exp.Expression], arrays: list[Array], type_: Type) -> Result:
    """Return a sum, difference, product or negation of integers of one type, and where it overflows."""
    if kind is exp.SafeNegate:
        kind, arrays = exp.SafeSubtract, [np.zeros_like(arrays[0]), *arrays]
    a, b = arrays
    result: Array = _SAFE[kind](a, b)
    if kind is exp.SafeAdd:
        undefined = ((a ^ result) & (b ^ result)) < 0 if type_.signed else result < a
    elif kind is exp.SafeSubtract:
        undefined = ((a ^ b) & (a ^ result)) < 0 if type_.signed else a < b
    else:
        undefined = _overflows(a, b, result, type_)
    return result, undefined


def _overflows(a: Array, b: Array, product: Array, type_: Type) -> Array:
    """Return where a product does not fit, so that its low bits are wrong."""
    nonzero = a != 0
    divisor = np.where(nonzero, a, a.dtype.type(1))
    exact: Array = _quotient(product, divisor) == b
    if type_.signed:
        exact &= ~((a == -1) & (b == type_.range[0]))
    result: Array = nonzero & ~exact
    return result


def narrowed(array: Array, source: Type, target: Type) -> Result:
    """Convert integers to another type, and return where they do not fit."""
    (least, most), (low, high) = source.range, target.range
    below = array < array.dtype.type(low) if low > least else np.zeros(len(array), bool)
    above = array > array.dtype.type(high) if high < most else np.zeros(len(array), bool)
    return array.astype(dtype_of(target)), below | above


def convert(array: Array, source: Type, target: Type) -> Result:
    """Cast among integers and floats: low bits are kept, floats lose their fraction; NULL where out of range."""
    if target.is_float:
        return array.astype(np.float64).astype(dtype_of(target)), None
    if source.is_integer:
        return array.astype(dtype_of(target)), None
    least, most = target.range
    inside = (array >= float(least)) & (array < float(most + 1))
    return np.where(inside, array, 0.0).astype(dtype_of(target)), ~inside


def negate(array: Array, type_: Type) -> Array:
    """Return the negated numbers; integers wrap around."""
    return np.zeros_like(array) - array if type_.is_integer else -array


def arithmetic(kind: type[exp.Expression], a: Array, b: Array, type_: Type) -> Result:
    """Return the result of an operation on two arrays of integers or floats of one type, and where it is undefined."""
    if kind in _DIRECT:
        return _DIRECT[kind](a, b), None
    if kind in (exp.BitwiseLeftShift, exp.BitwiseRightShift):
        amount = b & b.dtype.type(type_.bits - 1)
        return (a << amount if kind is exp.BitwiseLeftShift else a >> amount), None
    if type_.is_float:
        result, undefined = _float_arithmetic(kind, a.astype(np.float64), b.astype(np.float64))
        return result.astype(dtype_of(type_)), undefined
    if kind is exp.Pow:
        return _power(a, b), (b < 0) if type_.signed else None
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
    return (np.fmod(a, divisor) if kind is exp.Mod else a / divisor), zero


def _quotient(a: Array, b: Array) -> Array:
    """Return the integer quotient, truncated toward zero, which wraps around."""
    if a.dtype.kind == "u":
        quotient: Array = a // b
        return quotient
    minus = b == -1
    floor = np.where(minus, np.zeros_like(a) - a, np.floor_divide(a, np.where(minus, b.dtype.type(1), b)))
    inexact = (floor * b != a) & ((a < 0) != (b < 0))
    return np.where(minus, floor, floor + inexact)


def _power(a: Array, b: Array) -> Array:
    """Return integer powers by squaring, modulo their width."""
    result = np.ones_like(a)
    base, exponent = a.copy(), np.where(b < 0, b.dtype.type(0), b).astype(np.uint64)
    while exponent.any():
        result = np.where(exponent & np.uint64(1), result * base, result)
        base = base * base
        exponent >>= np.uint64(1)
    return result


def any_null(*nulls: Nulls) -> Nulls:
    """Return where any of several results is NULL."""
    result = [n for n in nulls if n is not None and n.any()]
    return np.logical_or.reduce(result) if result else None


def where_defined(nulls: Nulls, arrays: Sequence[Array], compute: Callable[..., Result]) -> Result:
    """Compute the rows without NULL; the others are NULL."""
    if nulls is None or not nulls.any():
        return compute(*arrays)
    values, undefined = compute(*(array[~nulls] for array in arrays))
    result = np.zeros(len(nulls), values.dtype)
    result[~nulls] = values
    if undefined is not None:
        nulls = nulls.copy()
        nulls[~nulls] = undefined
    return result, nulls


def overwritten(mask: Array, result: Result, values: Array, nulls: Nulls = None) -> Result:
    """Return these values, overwritten by a result where the mask is true. Modifies the arrays."""
    values = values.astype(np.result_type(values, result[0]), copy=False)
    nulls = np.zeros(len(mask), bool) if nulls is None else nulls
    values[mask], nulls[mask] = result[0], False if result[1] is None else result[1]
    return values, nulls


def as_result(values: Array, nulls: Nulls, type_: Type, interner: Interner) -> Result:
    """Return the values of a stored column as a result."""
    return where_defined(nulls, [values], lambda there: (natural(there, type_, interner), None))


def of_arrow(found: Any, type_: Type, interner: Interner) -> Result:
    """Return the values of an Arrow column of this type as a result."""
    return as_result(*encode(found, type_, interner), type_, interner)
