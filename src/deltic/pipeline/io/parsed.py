"""The result of reading: rows, and errors and findings for malformed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.errors import Diagnostic
from deltic.values import of_python, to_arrow
from deltic.values.types import Schema


@dataclass(frozen=True)
class Parsed:
    """Rows as a table of `arrow_schema`, and the positions (from 0) of the malformed ones."""

    table: pa.Table
    bad: list[int]


@dataclass(frozen=True)
class ParsedRows:
    """The rows of some files or of a part of one, with a finding for each malformed row."""

    table: pa.Table
    rejects: tuple[Diagnostic, ...] = ()
    lines: int = 0
    """The number of lines of text."""


def arrow_schema(schema: Schema, signed: bool) -> pa.Schema:
    """Return the Arrow schema of rows; of changes, with weights, if `signed`."""
    fields = schema.to_arrow()
    return fields.append(pa.field(WEIGHT, pa.int64(), nullable=False)) if signed else fields


def rows_to_table(rows: Sequence[tuple[tuple[Any, ...], int]], schema: Schema, signed: bool) -> pa.Table:
    """Return rows with weights as a table, without the weights unless `signed`."""
    fields = arrow_schema(schema, signed)
    columns = [to_arrow((of_python(row[i], c.type) for row, _ in rows), c.type) for i, c in enumerate(schema)]
    if signed:
        columns.append(pa.array([weight for _, weight in rows], pa.int64()))
    return table_of(columns, fields, len(rows))


def concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of one or more tables. Arrow loses those without columns."""
    if tables[0].num_columns:
        return pa.concat_tables(tables)
    return table_of([], pa.schema([]), sum(map(len, tables)))


def table_of(columns: Sequence[Any], fields: pa.Schema, rows: int) -> pa.Table:
    """Return a table of these columns, with `rows` rows even if there is no column."""
    if columns:
        return pa.table(list(columns), schema=fields)
    return pa.table({"": pa.nulls(rows)}).select([])


class Malformed(Exception):
    """A row does not fit its relation. `column` counts characters from 1, and is 0 if unknown."""

    def __init__(self, reason: str, column: int = 0, length: int = 1, hint: str = "") -> None:
        super().__init__(reason)
        self.reason, self.column, self.length, self.hint = reason, column, length, hint

    def at(self, file: str, line: int, text: str) -> Diagnostic:
        """Return the finding, once the file and the line are known."""
        return Diagnostic(self.reason, file, line, self.column, text, self.length, self.hint)
