"""The names of types in DuckDB's SQL, in which expressions are printed and computed."""

from __future__ import annotations

from functools import cache, lru_cache

from sqlglot import exp

from deltic.errors import UnsupportedError
from deltic.values.types import Column, Kind, Type
from deltic.values.words import quoted

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
    Type.TIME: "TIME",
    Type.YEAR_MONTH_INTERVAL: "INTERVAL YEAR TO MONTH",
    Type.DAY_TIME_INTERVAL: "INTERVAL DAY TO SECOND",
}


_INTERVALS = (Kind.YEAR_MONTH_INTERVAL, Kind.DAY_TIME_INTERVAL)


@lru_cache(maxsize=1024)
def type_named(name: str) -> Type:
    """The type of that name in DuckDB's SQL; elements, fields and map values are nullable."""
    return of_sql(exp.DataType.build(name, dialect="duckdb"))


@cache
def sql_type(type_: Type) -> exp.DataType:
    """Return the name of a type as a tree; copy it before it is put into another tree."""
    return exp.DataType.build(type_name(type_), dialect="duckdb")


def type_name(type_: Type) -> str:
    """Return the name of a type in DuckDB's SQL."""
    match type_.kind:
        case Kind.DECIMAL:
            return f"DECIMAL({type_.precision}, {type_.scale})"
        case Kind.ARRAY:
            return f"{type_name(type_.element.type)}[]"
        case Kind.STRUCT:
            return f"STRUCT({', '.join(f'{quoted(c.name)} {type_name(c.type)}' for c in type_.fields)})"
        case Kind.MAP:
            return f"MAP({type_name(type_.key)}, {type_name(type_.value.type)})"
        case _:
            return _NAMES[type_]


def of_sql(sql: exp.DataType) -> Type:
    """Return the type of a type name in SQL; elements, fields and map values are nullable."""
    if isinstance(sql.this, exp.Interval):
        return Type.YEAR_MONTH_INTERVAL if sql == sql_type(Type.YEAR_MONTH_INTERVAL) else Type.DAY_TIME_INTERVAL
    if sql.this in _OF_NAMES:
        return _OF_NAMES[sql.this]
    parts = sql.expressions
    if sql.this is exp.DataType.Type.DECIMAL:
        return Type.decimal(*(int(part.this.this) for part in parts))
    if sql.this is exp.DataType.Type.ARRAY:
        return Type.array(of_sql(parts[0]).or_null)
    if sql.this is exp.DataType.Type.STRUCT:
        return Type.struct(Column(part.name, of_sql(part.args["kind"]), nullable=True) for part in parts)
    if sql.this is exp.DataType.Type.MAP:
        return Type.map(of_sql(parts[0]), of_sql(parts[1]).or_null)
    raise UnsupportedError(f"the type {sql.sql(dialect='duckdb')} is not supported in a cast")


_OF_NAMES = {sql_type(type_).this: type_ for type_ in _NAMES if type_.kind not in _INTERVALS} | {
    exp.DataType.Type.VARCHAR: Type.STRING
}
