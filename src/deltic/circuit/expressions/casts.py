"""Casts: the nodes that change a type, the names of types in SQL, and the supported casts.

A TRY_CAST between integers keeps the low bits, as Spark's CAST does outside of ANSI mode. Otherwise
it is NULL if the target type has no such value: floats lose their fraction, decimals are rounded half away from zero to
the target's scale. Casts of other types than numbers are Spark's TRY_CAST, see `deltic.functions.conversions`: parts
of arrays, structs and maps without a value are NULL.

A conversion is written CAST, and is Spark's CAST in ANSI mode: NULL where Spark has no value, also if an integer
does not fit, or a part has no value.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from deltic.values.types import Kind, Type
from deltic.values.types.names import of_sql, sql_type

_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
_INTERVALS = (Kind.YEAR_MONTH_INTERVAL, Kind.DAY_TIME_INTERVAL)


def cast(expression: exp.Expression, type_: Type) -> exp.Expression:
    """Return the expression converted to another type; NULL where it has no such value."""
    return exp.TryCast(this=expression, to=sql_type(type_).copy())


def conversion(expression: exp.Expression, type_: Type) -> exp.Expression:
    """Return the expression converted to another type with Spark's CAST in ANSI mode; NULL where Spark has no value."""
    return exp.Cast(this=expression, to=sql_type(type_).copy())


def is_conversion(expression: exp.Expression) -> bool:
    """Return whether the node is a CAST with Spark's meaning, see `conversion`."""
    return type(expression) is exp.Cast


def null(type_: Type) -> exp.Expression:
    """Return a NULL of the given type."""
    return cast(exp.Null(), type_)


def is_null_of_a_type(expression: exp.Expression) -> bool:
    """Return whether the node is a NULL of a given type, as `null` makes it."""
    return isinstance(expression, exp.TryCast) and isinstance(expression.this, exp.Null)


def cast_type(expression: exp.Expression) -> Type:
    """Return the type that a cast converts to."""
    return of_sql(expression.args["to"])


def has_conversion(source: Type, target: Type) -> bool:
    """Return whether Spark casts values of one type to the other in ANSI mode."""
    if source is target:
        return True
    if target is Type.STRING:
        return True
    if source.kind is target.kind and source.is_composite:
        return have_same_parts(source, target, has_conversion)
    if source is Type.STRING:
        return not target.is_composite and target.kind not in _INTERVALS
    if Type.BINARY in (source, target) or source.kind in _INTERVALS or target.kind in _INTERVALS:
        return False
    if _are_times(source, target):
        return True
    numbers = (source.is_numeric or source is Type.BOOLEAN, target.is_numeric or target is Type.BOOLEAN)
    return all(numbers) or (Type.TIMESTAMP in (source, target) and (source.is_numeric or target.is_numeric))


def have_same_parts(source: Type, target: Type, fits: Callable[[Type, Type], bool]) -> bool:
    """Return whether two composite types of one kind have as many parts, and each `fits` its counterpart."""
    pairs = zip(source.parts, target.parts, strict=False)
    return len(source.parts) == len(target.parts) and all(fits(one.type, other.type) for one, other in pairs)


def never_undefined(source: Type, target: Type) -> bool:
    """Return whether a TRY_CAST from `source` to `target` is defined for every value."""
    if source is target or target is Type.BOOLEAN:
        return source is not Type.STRING
    if target is Type.STRING:
        return source is not Type.BINARY
    if source.kind is Kind.BOOLEAN or _are_times(source, target):
        return target.kind is not Kind.DECIMAL or target.precision > target.scale
    if target.kind is Kind.DECIMAL:
        return source.is_numeric and _whole_digits(source) <= target.precision - target.scale
    return (target.is_float and source.is_numeric) or (target.is_integer and source.is_integer)


def converts_all(source: Type, target: Type) -> bool:
    """Return whether Spark's cast from `source` to `target` is defined for every value."""
    if source is target or target is Type.STRING:
        return source is not Type.BINARY
    if source is Type.STRING or source.is_composite:
        return target is Type.BINARY
    if source.is_integer and target.is_integer:
        (least, most), (low, high) = source.range, target.range
        return low <= least and most <= high
    return source.kind is not Kind.TIMESTAMP and target.kind is not Kind.TIMESTAMP and never_undefined(source, target)


def _whole_digits(source: Type) -> float:
    """Return the most digits before the decimal point in a value of a numeric type, allowing for rounding up."""
    if source.is_integer:
        return len(str(source.range[1]))
    return source.precision - source.scale + 1 if source.kind is Kind.DECIMAL else float("inf")


def _are_times(source: Type, target: Type) -> bool:
    return source.kind in _TIMES and target.kind in _TIMES
