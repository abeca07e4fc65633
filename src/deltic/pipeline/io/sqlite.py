"""Reads and writes rows in a SQLite database, where a relation is the table or view of its name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltic.errors import DataError, DelticError, Diagnostic, count_of
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.parsed import Malformed, ParsedRows, rows_to_table
from deltic.pipeline.io.text_fields import TextField, convert
from deltic.values.types import Schema, Type
from deltic.values.words import quoted

_ROWS = 1 << 16
_GREATEST = 2**63 - 1


def read_sqlite(path: Path, layout: FileLayout, file: str) -> Iterator[ParsedRows]:
    """Yield the rows of the relation, by the order of its columns. Findings have the number of the row.

    A value is read like its text; NULL is the empty text. Raises DataError if the database has no such rows.
    """
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            result = database.execute(f"SELECT * FROM {quoted(layout.relation)}")
            if len(result.description) != layout.width:
                columns = count_of(len(result.description), "column")
                reason = f"{layout.relation} has {columns} there, and {layout.width} here"
                raise DataError([Diagnostic(reason, file)])
            first = 1
            while rows := result.fetchmany(_ROWS):
                yield _batch(rows, first, layout, file)
                first += len(rows)
    except sqlite3.Error as error:
        raise DataError(
            [Diagnostic(f"not a database of SQLite with {layout.relation} in it: {error}", file)]
        ) from error


def _batch(rows: list[Any], first: int, layout: FileLayout, file: str) -> ParsedRows:
    values, rejects = [], []
    for number, row in enumerate(rows, first):
        texts = ["" if value is None else str(value) for value in row]
        try:
            pairs = zip(texts, layout.schema, strict=True)
            values.append((tuple(convert(TextField(text, 0, len(text)), column) for text, column in pairs), 1))
        except Malformed as error:
            error.reason = f"row {number}, {error.reason}"
            rejects.append(error.at(file, number, str(row)))
    return ParsedRows(rows_to_table(values, layout.schema, layout.signed), tuple(rejects))


def write_sqlite(rows: pa.Table, name: str, schema: Schema, path: Path) -> None:
    """Replace the database's rows of the relation by these rows. Raises DelticError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = ", ".join(f"{quoted(column.name)} {_affinity(column.type)}" for column in schema)
    places = ", ".join("?" for _ in schema)
    try:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("BEGIN")
            kind = database.execute("SELECT type FROM sqlite_master WHERE name = ?", (name,)).fetchone()
            if kind is not None:
                database.execute(f"DROP {kind[0]} {quoted(name)}")
            database.execute(f"CREATE TABLE {quoted(name)} ({columns or 'holds'})")
            insert = f"INSERT INTO {quoted(name)} VALUES ({places or 'TRUE'})"
            for batch in rows.to_batches(_ROWS):
                database.executemany(insert, _rows(batch))
            if not schema:
                database.executemany(insert, [()] * len(rows))
    except sqlite3.Error as error:
        raise DelticError(f"{path}: {name} cannot be written: {error}") from error


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """Yield rows of SQLite's values. Numbers above its greatest become text."""
    for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        yield tuple(str(value) if isinstance(value, int) and value > _GREATEST else value for value in row)


def _affinity(type_: Type) -> str:
    """Return the SQLite type of a column. Text in a column without a type stays text."""
    if type_.is_integer:
        return "INTEGER" if type_.signed else ""
    return "REAL" if type_.is_float else "TEXT"
