"""Tables defined in Python: by types, which may be SQL's names, or by their first rows."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltic.catalog import External
from deltic.catalog.columns import schema_of, value_type
from deltic.catalog.lateness import ColumnStorage
from deltic.errors import CatalogError, DelticError, UnsupportedError
from deltic.pipeline.io.files import File
from deltic.pipeline.rows.tabular import tabular
from deltic.pipeline.spark.spark import arrow_schema_of, is_dataframe
from deltic.sql.statements.parse_columns import stored_type
from deltic.sql.statements.reading import data_type, split
from deltic.sql.text import SourceText
from deltic.values.types import Column, Schema, ValueType
from deltic.values.types.arrow import type_of_arrow

_FORMS = (
    "a mapping from names to types, a frame (pandas, polars, Arrow, Spark), dicts, dataclasses, "
    "or a file: its path or a deltic.File"
)
_SHOWN = 60


def columns_of(name: str, given: Any) -> tuple[Schema, tuple[ColumnStorage, ...]] | None:
    """Return the columns of a mapping or schema, and their storage rules; None where `columns` are rows.

    Types have Python's or SQL's names. Raises CatalogError.
    """
    if isinstance(given, Mapping):
        read = {column: _of_sql(type_, column) for column, type_ in given.items()}
        storing = tuple(one for _, one in read.values() if one is not None and one != ColumnStorage(one.column))
        return schema_of(name, {column: type_ for column, (type_, _) in read.items()}), storing
    return (schema_of(name, given), ()) if isinstance(given, Schema | pa.Schema) else None


def _of_sql(type_: Any, column: str) -> tuple[Any, ColumnStorage | None]:
    """Return the type and storage rule of an SQL type name; other types, and names that are ours too, stay."""
    if not isinstance(type_, str) or value_type(type_) is not None:
        return type_, None
    source = SourceText(type_.removesuffix("?"), "<type>")
    try:
        (tokens,) = split(source)
        read, storage = stored_type(data_type(tokens, source), column, source)
        return ValueType(read, type_.endswith("?")), storage
    except (DelticError, ValueError):
        return type_, None


def rows_of(name: str, given: Any, key: Iterable[str]) -> tuple[Schema, Any]:
    """Return the first rows of a table and its columns: those of the key are not nullable, the others are.

    Raises CatalogError for values that are no rows, have no column names, or have an unknown type.
    """
    key = set(key)
    rows = _read(name, given, key)
    fields = arrow_schema_of(rows) if is_dataframe(rows) else rows.schema
    columns = []
    for field in fields:
        if pa.types.is_null(field.type):
            raise CatalogError(
                f"table {name}, column {field.name}: it has no value to infer a type from; name its type"
            )
        try:
            columns.append(Column(field.name, type_of_arrow(field.type), field.name not in key))
        except UnsupportedError as error:
            raise CatalogError(f"table {name}, column {field.name}: {error}") from None
    return schema_of(name, Schema(tuple(columns))), rows


def _read(name: str, given: Any, key: Container[str]) -> Any:
    """Read rows into an Arrow table; a Spark DataFrame is returned unchanged."""
    if is_dataframe(given):
        return given
    if isinstance(given, File) and not given.headers:
        raise CatalogError(f"table {name}: {given.path} names its columns in its first line: File(…, headers=True)")
    if isinstance(given, str | Path | File):
        from deltic.pipeline.definitions.first_rows import rows_of_file  # Arrow's readers of files take time to import

        return rows_of_file(name, given if isinstance(given, File) else File(given, headers=True), key)
    rows = tabular(name, given, (), lambda fields: list(fields.names))
    if isinstance(rows, pa.Table):
        return rows
    named = [_named(row) for row in rows] if isinstance(rows, Iterable) else []
    listed = [row for row in named if row is not None]
    if isinstance(given, External):
        raise CatalogError(f"table {name}: {given} is a source: pipeline.table({name!r}, source=…)")
    if not listed or len(listed) < len(named):
        text = repr(given)
        result = text if len(text) < _SHOWN else f"{text[:_SHOWN]}…"
        raise CatalogError(f"table {name}: its columns come from {_FORMS}; found {result}")
    columns = dict.fromkeys(column for row in listed for column in row)
    return pa.table({column: _array(name, column, [row.get(column) for row in listed]) for column in columns})


def _array(name: str, column: str, values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except pa.ArrowException as error:
        message = f"table {name}, column {column}: it has values of several types ({error})"
        raise CatalogError(f"{message}; convert them to one, or name the type of each column") from None


def _named(row: Any) -> dict[str, Any] | None:
    """Return a row as a dict; None where it has no column names."""
    if isinstance(row, Mapping):
        return dict(row)
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    return row._asdict() if hasattr(row, "_asdict") else None
