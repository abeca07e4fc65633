"""Casts: the nodes that change a type, what types are called in SQL, and which casts there are.

A cast is written TRY_CAST. Between integers it keeps the low bits, as Spark's CAST does outside of ANSI mode; otherwise
it is NULL where the target has no such value: floats lose their fraction, decimals are rounded half away from zero to
the scale that they get. Texts are numbers where they are written as one. Instants are shown in UTC, and bytes are text
in UTF-8. Nothing is cast to or from an interval but by a conversion, to text; composite values only to composite ones
of the same kind.

A conversion is written CAST, and is Spark's cast in ANSI mode, see `deltic.circuit.conversions`: NULL where Spark has
no value, also where an integer does not fit; texts are read and written as Spark does it.
"""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from deltic.circuit.types import Column, Kind, Type
from deltic.errors import UnsupportedError

_NAMES = {
    Type.BOOLEAN: "BOOLEAN",
    Type.INT8: "TINYINT",
    Type.INT16: "SMALLINT",
    Type.INT32: "INT",
    Type.INT64: "BIGINT",
    Type.UINT8: "UTINYINT",
    Type.UINT16: "USMALLINT",
    Type.UINT32: "UINTEGER",
    Type.UINT64: "UBIGINT",
    Type.FLOAT32: "REAL",
    Type.FLOAT64: "DOUBLE",
    Type.STRING: "TEXT",
    Type.BINARY: "BLOB",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMPTZ",
    Type.TIMESTAMP_NTZ: "TIMESTAMP",
    Type.YEAR_MONTH_INTERVAL: "INTERVAL YEAR TO MONTH",
    Type.DAY_TIME_INTERVAL: "INTERVAL DAY TO SECOND",
}
_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
_INTERVALS = (Kind.YEAR_MONTH_INTERVAL, Kind.DAY_TIME_INTERVAL)


def cast(expression: exp.Expression, type_: Type) -> exp.Expression:
    """The expression converted to another type; NULL where it has no such value."""
    return exp.TryCast(this=expression, to=_sql_type(type_).copy())


def conversion(expression: exp.Expression, type_: Type) -> exp.Expression:
    """The expression converted to another type as Spark does it; NULL where Spark has no value."""
    return exp.Cast(this=expression, to=_sql_type(type_).copy())


def is_conversion(expression: exp.Expression) -> bool:
    """Whether the node is Spark's cast."""
    return type(expression) is exp.Cast


def null(type_: Type) -> exp.Expression:
    """The NULL of a type."""
    return cast(exp.Null(), type_)


def is_null_of_a_type(expression: exp.Expression) -> bool:
    """Whether the node is the NULL of a type."""
    return isinstance(expression, exp.TryCast) and isinstance(expression.this, exp.Null)


def cast_type(expression: exp.Expression) -> Type:
    """The type that a cast converts to."""
    return _of_sql(expression.args["to"])


def type_name(type_: Type) -> str:
    """The name of a type in DuckDB's SQL."""
    return _name(type_)


def type_named(name: str) -> Type:
    """The type of that name in DuckDB's SQL; what it holds may be NULL."""
    return _of_sql(exp.DataType.build(name, dialect="duckdb"))


def has_cast(source: Type, target: Type) -> bool:
    """Whether values of one type can be cast to the other at all."""
    if source is target:
        return True
    if source.is_composite or target.is_composite:
        return source.kind is target.kind
    if source.kind in _INTERVALS or target.kind in _INTERVALS:
        return False
    if source.kind in _TIMES or target.kind in _TIMES:
        return _are_times(source, target) or Type.STRING in (source, target)
    return Type.BINARY not in (source, target) or Type.STRING in (source, target)


def has_conversion(source: Type, target: Type) -> bool:
    """Whether Spark casts values of one type to the other in ANSI mode."""
    if source is target:
        return True
    if target is Type.STRING:
        return True
    if source.kind is target.kind and source.is_composite:
        return _have_conversions(source, target)
    if source is Type.STRING:
        return not target.is_composite and target.kind not in _INTERVALS
    if Type.BINARY in (source, target) or source.kind in _INTERVALS or target.kind in _INTERVALS:
        return False
    if _are_times(source, target):
        return True
    numbers = (source.is_numeric or source is Type.BOOLEAN, target.is_numeric or target is Type.BOOLEAN)
    return all(numbers) or (Type.TIMESTAMP in (source, target) and any(numbers))


def _have_conversions(source: Type, target: Type) -> bool:
    """Whether what the values of two composite types of one kind hold is converted."""
    if source.kind is Kind.ARRAY:
        return has_conversion(source.element.type, target.element.type)
    if source.kind is Kind.MAP:
        return has_conversion(source.key, target.key) and has_conversion(source.value.type, target.value.type)
    pairs = [*zip(source.fields, target.fields, strict=False)]
    return len(source.fields) == len(target.fields) and all(has_conversion(a.type, b.type) for a, b in pairs)


def never_undefined(source: Type, target: Type) -> bool:
    """Whether every value of one type has one of the other."""
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
    """Whether Spark converts every value of one type to the other."""
    if source is target or target is Type.STRING:
        return source is not Type.BINARY
    if source is Type.STRING or source.is_composite:
        return target is Type.BINARY
    if source.is_integer and target.is_integer:
        (least, most), (low, high) = source.range, target.range
        return low <= least and most <= high
    return source.kind is not Kind.TIMESTAMP and target.kind is not Kind.TIMESTAMP and never_undefined(source, target)


def _whole_digits(source: Type) -> float:
    """How many digits before the point the values of a numeric type have at most, rounding up included."""
    if source.is_integer:
        return len(str(source.range[1]))
    return source.precision - source.scale + 1 if source.kind is Kind.DECIMAL else float("inf")


def _are_times(source: Type, target: Type) -> bool:
    return source.kind in _TIMES and target.kind in _TIMES


@cache
def _sql_type(type_: Type) -> exp.DataType:
    return exp.DataType.build(_name(type_), dialect="duckdb")


def _name(type_: Type) -> str:
    match type_.kind:
        case Kind.DECIMAL:
            return f"DECIMAL({type_.precision}, {type_.scale})"
        case Kind.ARRAY:
            return f"{_name(type_.element.type)}[]"
        case Kind.STRUCT:
            return f"STRUCT({', '.join(f'{_quoted(c.name)} {_name(c.type)}' for c in type_.fields)})"
        case Kind.MAP:
            return f"MAP({_name(type_.key)}, {_name(type_.value.type)})"
        case _:
            return _NAMES[type_]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _of_sql(sql: exp.DataType) -> Type:
    """The type that a name in SQL stands for; what it holds may be NULL."""
    if isinstance(sql.this, exp.Interval):
        return Type.YEAR_MONTH_INTERVAL if sql == _sql_type(Type.YEAR_MONTH_INTERVAL) else Type.DAY_TIME_INTERVAL
    if sql.this in _OF_NAMES:
        return _OF_NAMES[sql.this]
    parts = sql.expressions
    if sql.this is exp.DataType.Type.DECIMAL:
        return Type.decimal(*(int(part.this.this) for part in parts))
    if sql.this is exp.DataType.Type.ARRAY:
        return Type.array(_of_sql(parts[0]).or_null)
    if sql.this is exp.DataType.Type.STRUCT:
        return Type.struct(Column(part.name, _of_sql(part.args["kind"]), nullable=True) for part in parts)
    if sql.this is exp.DataType.Type.MAP:
        return Type.map(_of_sql(parts[0]), _of_sql(parts[1]).or_null)
    raise UnsupportedError(f"the type {sql.sql(dialect='duckdb')} is not supported in a cast")


_OF_NAMES = {_sql_type(type_).this: type_ for type_ in _NAMES if type_.kind not in _INTERVALS} | {
    exp.DataType.Type.VARCHAR: Type.STRING
}
