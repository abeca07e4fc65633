"""Targets of a relation's rows, and their formats."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.pipeline.io.directives import Output
from deltic.pipeline.io.locate import COMPRESSED
from deltic.pipeline.io.render import header_line, json_lines, printed, text_lines, unit_weights
from deltic.values.types import Type

Format = Literal["csv", "parquet", "json", "arrow"]


@dataclass(frozen=True)
class RowTarget:
    """A target of rows: a file, or a folder of part files if Spark writes."""

    path: Path
    format: Format
    output: Output
    compresses: bool = False
    """Whether lines are compressed, whatever the file's name."""

    @property
    def is_compressed(self) -> bool:
        """Return whether the lines are compressed."""
        return self.format == "csv" and (self.compresses or self.path.suffix == COMPRESSED)

    def header(self, signed: bool) -> list[str]:
        """Return the lines before the rows."""
        if self.format != "csv" or not self.output.headers:
            return []
        if self.output.header and not signed:
            return [self.output.header]
        return [header_line(self.output.schema.names, self.output.delimiter, signed)]

    def lines(self, rows: pa.Table) -> pa.ChunkedArray:
        """Return the rows as lines, for the text formats."""
        if self.format == "json":
            return json_lines(rows)
        rows = unit_weights(rows) if WEIGHT in rows.column_names else rows
        output = self.output
        if output.structures is None:
            return text_lines(rows, output.delimiter, output.rfc4180)
        symbols = [column.name for column in output.schema if column.type is Type.STRING]
        texts = printed(rows, output.structures, output.rfc4180)
        return text_lines(texts, output.delimiter, output.rfc4180, symbols)


class Writer(Protocol):
    """Writes rows to targets, replacing their contents."""

    def write(self, rows: pa.Table, target: RowTarget) -> None:
        """Write the rows; they are changes if they have a column WEIGHT."""


def view_target(output: Output, out: Path, wanted: Format | None) -> RowTarget:
    """Return the target of a view: the directive's file, or <name>.<extension>. Delimited text may be compressed."""
    chosen = wanted or "csv"
    path = out / (output.filename or f"{output.title}.csv{COMPRESSED if output.compress else ''}")
    if chosen != "csv":
        return RowTarget(path.with_name(path.name.removesuffix(COMPRESSED)).with_suffix(f".{chosen}"), chosen, output)
    return RowTarget(path, chosen, output, output.compress)


def change_target(output: Output, folder: Path, wanted: Format | None) -> RowTarget:
    """Return the target of a view's changes in one epoch. The extension shows the delimiter, for reading them back."""
    chosen = wanted or "csv"
    extension = {"\t": "tsv", ",": "csv"}.get(output.delimiter, "txt") if chosen == "csv" else chosen
    return RowTarget(folder / f"{output.name}.{extension}", chosen, output)


def clear(path: Path) -> None:
    """Remove the output of an earlier run."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
