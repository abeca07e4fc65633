"""The columns of a table as Python code gives them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from deltic.errors import CatalogError, ProgramError, did_you_mean
from deltic.values.types import Column, Schema, Type, ValueType
from deltic.values.types.arrow import type_of_arrow

_PYTHON: dict[type, Type] = {
    bool: Type.BOOLEAN,
    int: Type.INT64,
    float: Type.FLOAT64,
    str: Type.STRING,
    bytes: Type.BINARY,
    datetime.date: Type.DATE,
    datetime.timedelta: Type.DAY_TIME_INTERVAL,
}
_WORDS = {str(type_): type_ for type_ in Type.simple()}
# What other languages call the types.
_ELSEWHERE = {
    **dict.fromkeys(("str", "text", "varchar", "symbol"), "string"),
    **dict.fromkeys(("int", "integer", "long", "bigint", "number", "i64"), "int64"),
    **dict.fromkeys(("unsigned", "ulong", "u64"), "uint64"),
    **dict.fromkeys(("float", "double", "real", "f64"), "float64"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("bytes", "blob"), "binary"),
}


def schema_of(table: str, columns: Any) -> Schema:
    """Return a schema from a Schema, an Arrow schema, or a mapping from names to types.

    A type is one of `deltic.values.types`, its text ("int64", "decimal(10, 2)", "array(string?)"), one of Arrow's, or
    a Python class (int, str, …). Where a column may be NULL it is `Type.INT64.or_null`, or has a question mark:
    "int64?". Raises CatalogError.
    """
    if isinstance(columns, Schema):
        return columns
    if not isinstance(columns, Mapping):
        if type(columns).__module__.startswith("pyarrow") and hasattr(columns, "names"):
            return Schema.of_arrow(columns)
        raise CatalogError(
            f"table {table}: its columns are a mapping from names to types, as in "
            f'{{"id": "int64", "name": "string?"}}; found {columns!r}'
        )
    return Schema(tuple(_column(table, name, type_) for name, type_ in columns.items()))


def _column(table: str, name: Any, type_: Any) -> Column:
    if not isinstance(name, str) or not name:
        raise CatalogError(f"table {table}: {name!r} cannot be the name of a column")
    result = value_type(type_)
    if result is None:
        raise CatalogError(f"table {table}, column {name}: there is no type {type_!r}; {remedy(type_)}")
    return Column(name, result.type, result.nullable)


def value_type(type_: Any) -> ValueType | None:
    """Return the type for a value that `schema_of` takes as one; None where it is no type."""
    if isinstance(type_, ValueType):
        return type_
    if isinstance(type_, Type):
        return ValueType(type_)
    if isinstance(type_, str):
        return _written(type_)
    if isinstance(type_, type):
        return ValueType(_PYTHON[type_]) if type_ in _PYTHON else None
    if type(type_).__module__.startswith("pyarrow"):
        return ValueType(type_of_arrow(type_))
    return None


def _written(text: str) -> ValueType | None:
    """Parse the text of a type; None where it is no type."""
    from deltic.circuit.reading.parser import parse_value_type

    try:
        return parse_value_type(text)
    except ProgramError:
        return None


def remedy(type_: Any) -> str:
    """Return the remedy for an unknown type."""
    if isinstance(type_, str):
        bare = type_.removesuffix("?").strip().lower()
        if bare in _ELSEWHERE:
            return f"did you mean `{_ELSEWHERE[bare]}`?"
        if near := did_you_mean(bare, _WORDS):
            return near
    return f"the types are {', '.join(_WORDS)}, decimal(10, 2), array(string?), map(string, int64), struct{{a: date}}"
