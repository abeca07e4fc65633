"""Files as sources and targets of rows and changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.files.address import path_here
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.pipeline.io.directives import Output
from deltic.pipeline.io.layout import FileKind
from deltic.pipeline.io.loader import loaded
from deltic.pipeline.io.locate import EXTENSIONS, TableInput, files_at, form_of
from deltic.pipeline.io.rounding import Rounding
from deltic.pipeline.io.target import ArrowWriter, Format, RowTarget
from deltic.pipeline.names import check_choice
from deltic.values.types import Schema


@dataclass(frozen=True)
class File:
    """A file, or a folder of part files, of rows or changes; its suffix is the format.

    The other fields are about delimited text: the delimiter, whether the first line names the columns of the fields,
    which may be in any order then, and whether fields may be quoted as in RFC 4180.
    """

    path: str | Path
    delimiter: str | None = None
    headers: bool = False
    rfc4180: bool = False

    def rows(
        self, table: str, schema: Schema, signed: bool, key: tuple[str, ...] = (), rounding: Rounding | None = None
    ) -> pa.Table:
        """Return the rows of a table with this key, with weights if `signed`; with `rounding`, rounded ones.

        Raises DataError with the places of malformed rows.
        """
        path = path_here(self.path)
        if not path.exists():
            raise DataError([Diagnostic(f"table {table}: there is no such file", str(path))])
        source = TableInput(
            table, schema, delimiter=self.delimiter, rfc4180=self.rfc4180, by_name=self.headers, key=key
        )
        return loaded(files_at(source, path, signed).rounded(rounding))


def write(rows: pa.Table, path: str | Path, wanted: Format | None, delimiter: str | None, headers: bool) -> None:
    """Write rows, or changes with their weights, to a file, which appears when it is complete; raises DelticError."""

    target = path_here(path)
    kind, usual = form_of(Path(f"x{target.suffix}"))
    chosen: Any = wanted or (kind and kind.value)
    if chosen is None:
        raise DelticError(f"{target}: the suffix of a name is its format: {', '.join(EXTENSIONS[1:])}; or say kind=")
    check_choice(chosen, "format", get_args(Format))
    names = [name for name in rows.column_names if name != WEIGHT]
    between = delimiter or usual or ("\t" if kind is FileKind.TEXT else ",")
    if chosen == "csv":
        _check_delimiter(target, between)
    output = Output(target.stem, Schema.of_arrow(rows.select(names).schema), None, between, headers, rfc4180=True)
    try:
        ArrowWriter().write(rows, RowTarget(target, chosen, output))
    except OSError as error:
        raise DelticError(f"{error.filename or target}: {error.strerror or error}") from error


def _check_delimiter(path: Path, delimiter: str) -> None:
    if len(delimiter) != 1 or delimiter == '"':
        raise DelticError(f"{path}: the delimiter is one character other than a quote, found {delimiter!r}")
