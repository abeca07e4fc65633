"""Request bodies as changes of a table: JSON lines, a JSON array, CSV with a header, or an Arrow stream."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.pipeline.epochs.transaction import Transaction
from deltic.pipeline.io.json_values import of_json
from deltic.pipeline.io.layout import OP
from deltic.pipeline.io.loader import loaded
from deltic.pipeline.io.locate import TableInput, files_at
from deltic.pipeline.io.text import check_delimiter
from deltic.pipeline.names import check_choice, find
from deltic.pipeline.rows.coerce import optional_columns
from deltic.values.types import Schema, Type

JSON, JSON_LINES = "application/json", "application/x-ndjson"
CSV, ARROW = "text/csv", "application/vnd.apache.arrow.stream"
ALIASES = {
    "application/jsonl": JSON_LINES,
    "application/x-jsonlines": JSON_LINES,
    "application/json-lines": JSON_LINES,
    "application/vnd.apache.arrow.file": ARROW,
}
OPERATIONS = ("insert", "delete", "upsert", "update")
"""What rows do that do not say it themselves."""


class MediaTypeError(DelticError):
    """The body has an unsupported format."""


def change(transaction: Transaction, table: CatalogTable, operation: str, media_type: str, body: bytes) -> None:
    """Add the changes of a body to a transaction: rows with one operation for all, or one for each.

    Raises DataError with the line of a malformed row, and what the transaction raises.
    """
    if operation:
        check_choice(operation, "operation", OPERATIONS)
    kind = ALIASES.get(media_type, media_type)
    if kind not in _READ:
        message = f"a body of {media_type or 'no type'} is not read"
        raise MediaTypeError(f"{message}; Content-Type is one of {', '.join(_READ)}")
    rows = _READ[kind](table, operation, body)
    if operation:
        getattr(transaction, operation)(table.name, rows)
    elif kind in (JSON_LINES, CSV):  # read as a file of changes: with weights
        transaction.append(table.name, rows)
    else:
        transaction.change(table.name, rows)


def json_value(body: bytes, line: int = 0) -> Any:
    """Return the value of a JSON text, with exact decimals, or of one line of a body; raises DataError."""
    try:
        return json.loads(body, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        what = f"line {line} of the body" if line else "the body"
        raise DataError([Diagnostic(f"{what} is not JSON: {error}")]) from None


def json_rows(table: CatalogTable, value: Any) -> list[dict[str, Any]]:
    """Convert a JSON value to rows of a table as dicts, with values of the columns' types; raises DataError.

    A value that does not fit its column is kept, for the check of rows that follows.
    """
    if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
        raise DataError([Diagnostic("rows are an array of objects, each with the columns of a row by their names")])
    types = table.schema.types
    return [{name: _typed(given, types.get(name)) for name, given in row.items()} for row in value]


def _typed(value: Any, type_: Type | None) -> Any:
    with suppress(ValueError):
        return value if type_ is None else of_json(value, type_)
    return value


def _json(table: CatalogTable, operation: str, body: bytes) -> Any:
    return json_rows(table, json_value(body))


def _arrow(table: CatalogTable, operation: str, body: bytes) -> pa.Table:
    try:
        with pa.ipc.open_stream(body) as reader:
            return reader.read_all()
    except (pa.ArrowException, OSError) as error:
        raise DataError([Diagnostic(f"the body is not a stream of Arrow's IPC format: {error}")]) from None


def _json_lines(table: CatalogTable, operation: str, body: bytes) -> Any:
    """Read JSON lines; those of updates and deletions may only have some of the table's columns."""
    if operation in ("update", "delete"):
        lines = enumerate(body.splitlines(), 1)
        return json_rows(table, [json_value(line, number) for number, line in lines if line.strip()])
    optional = optional_columns(table) if operation in ("", "insert") else {}
    return _as_file(table, table.schema, not operation, body, ".jsonl", optional)


def _csv(table: CatalogTable, operation: str, body: bytes) -> Any:
    """Read CSV whose first line names the columns, in any order; with an operation for each row, all of them."""
    header = body.partition(b"\n")[0].decode("utf-8-sig", "replace").rstrip("\r")
    try:
        names = [name.strip() for name in next(csv.reader([header]), [])]
    except csv.Error as error:
        raise DataError([Diagnostic(f"the first line is not CSV: {error}", "body.csv", 1)]) from None
    check_delimiter("body.csv", names, ",", "separate the fields of a body by commas")
    columns = {column.name.lower(): column for column in table.schema}
    signs = 1 if not operation and names[:1] == [OP] else 0
    named = [find(name.lower(), "column", columns, within=table.name) for name in names[signs:]]
    if not named:
        raise DataError([Diagnostic("the first line of a CSV body names the columns", "body.csv", 1)])
    columns_read = tuple(column for column in table.schema if column in named or not operation)
    return _as_file(table, Schema(columns_read), not operation, body, ".csv")


def _as_file(
    table: CatalogTable,
    schema: Schema,
    signed: bool,
    body: bytes,
    ending: str,
    optional: Mapping[str, Any] | None = None,
) -> pa.Table:
    """Read a body as a file, whose inserted rows may leave out `optional` columns."""
    with TemporaryDirectory(prefix="deltic-body-") as folder:
        path = Path(folder, f"body{ending}")
        path.write_bytes(body)
        source = TableInput(table.name, schema, rfc4180=True, by_name=True, key=table.key)
        try:
            files = files_at(source, path, signed)
            files = replace(files, layout=replace(files.layout, optional=optional))
            return loaded(files)
        except DataError as error:
            raise DataError([replace(each, file=path.name) for each in error.diagnostics]) from None


_READ: Mapping[str, Callable[[CatalogTable, str, bytes], Any]] = {
    JSON_LINES: _json_lines,
    JSON: _json,
    CSV: _csv,
    ARROW: _arrow,
}
FORMS = tuple(_READ)
"""The types of bodies."""
