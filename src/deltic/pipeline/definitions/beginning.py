"""Tables defined in Python: by types, which may be SQL's names, or by their first rows."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.dataset
import pyarrow.json

from deltic.catalog import External
from deltic.catalog.columns import schema_of, value_type
from deltic.catalog.storing import ColumnStorage
from deltic.errors import CatalogError, DelticError, UnsupportedError
from deltic.pipeline.io.files import File
from deltic.pipeline.io.text import check_delimiter
from deltic.pipeline.rows.tabular import tabular
from deltic.pipeline.spark.spark import arrow_schema_of, is_dataframe
from deltic.sql.statements.parse_storing import stored_type
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
    """The columns of a mapping or schema, and their storage rules; None where `columns` are rows.

    Types have Python's or SQL's names. Raises CatalogError.
    """
    if isinstance(given, Mapping):
        read = {column: _of_sql(type_, column) for column, type_ in given.items()}
        storing = tuple(one for _, one in read.values() if one is not None and one != ColumnStorage(one.column))
        return schema_of(name, {column: type_ for column, (type_, _) in read.items()}), storing
    return (schema_of(name, given), ()) if isinstance(given, Schema | pa.Schema) else None


def _of_sql(type_: Any, column: str) -> tuple[Any, ColumnStorage | None]:
    """The type and storage rule of an SQL type name; other types, and names that are ours too, stay as they are."""
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
    """The first rows of a table and its columns: those of the key are not nullable, the others are.

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
        return _of_file(name, given if isinstance(given, File) else File(given, headers=True), key)
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
    """A row as a dict; None where it has no column names."""
    if isinstance(row, Mapping):
        return dict(row)
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    return row._asdict() if hasattr(row, "_asdict") else None


def _of_file(name: str, file: File, key: Container[str]) -> pa.Table:
    path = Path(file.path)
    suffix = path.suffix.lower()
    known = (*_DELIMITERS, *_READERS)
    if suffix not in known:
        remedy = f"it may be one of {', '.join(known)}; read other files with pandas, and pass the frame"
        raise CatalogError(f"table {name}: the form of {path} is not known: {remedy}")
    if not path.exists():
        raise CatalogError(f"table {name}: there is no file {path}; relative paths start at {Path.cwd()}")
    try:
        if suffix in _DELIMITERS:
            return _delimited(path, file.delimiter or _DELIMITERS[suffix], key)
        return _READERS[suffix](path)
    except (OSError, pa.ArrowException) as error:
        raise CatalogError(f"table {name}: {path} cannot be read: {error}") from error


def _delimited(path: Path, delimiter: str, key: Container[str]) -> pa.Table:
    """Read delimited text. An empty field is NULL, in a column of the key the empty text."""
    try:
        rows = pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter))
    except pa.ArrowInvalid:
        with path.open(encoding="utf-8", errors="replace") as lines:
            check_delimiter(path, lines.readline().rstrip("\r\n").split(delimiter), delimiter)
        raise
    check_delimiter(path, rows.column_names, delimiter)
    for place, (name, column) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        if pa.types.is_binary(column.type):
            raise CatalogError(f"{path}: column {name} is not UTF-8 text; save the file as UTF-8")
        if name not in key and pa.types.is_string(column.type):
            is_empty = pyarrow.compute.equal(column, "")
            rows = rows.set_column(place, name, pyarrow.compute.if_else(is_empty, None, column))
    return rows


def _dataset(kind: str) -> Callable[[Path], pa.Table]:
    return lambda path: pyarrow.dataset.dataset(path, format=kind).to_table()


_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": _dataset("parquet"),
    ".arrow": _dataset("ipc"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), pyarrow.json.read_json),
}
