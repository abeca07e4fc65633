"""Where the rows of a relation are written, and in which form."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.pipeline.io.directives import Output
from deltic.pipeline.io.printed import printed
from deltic.pipeline.io.render import header_line, json_lines, text_lines, unit_weights
from deltic.values.types import Type

Format = Literal["csv", "parquet", "json", "arrow"]
GZIP = ".gz"


@dataclass(frozen=True)
class RowTarget:
    """A place for rows: a file, or a folder of part files where Spark writes."""

    path: Path
    format: Format
    output: Output
    compresses: bool = False
    """Whether lines are compressed, whatever the file is called."""

    @property
    def is_compressed(self) -> bool:
        """Whether the lines are compressed."""
        return self.format == "csv" and (self.compresses or self.path.suffix == GZIP)

    def header(self, signed: bool) -> list[str]:
        """The lines in front of the rows."""
        if self.format != "csv" or not self.output.headers:
            return []
        if self.output.header and not signed:
            return [self.output.header]
        return [header_line(self.output.schema.names, self.output.delimiter, signed)]

    def lines(self, rows: pa.Table) -> pa.ChunkedArray:
        """The rows as lines, for the formats that are text."""
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
    """Writes rows to targets, in place of what is there."""

    def write(self, rows: pa.Table, target: RowTarget) -> None:
        """Write the rows; changes when they have a column WEIGHT."""


def view_target(output: Output, out: Path, wanted: Format | None) -> RowTarget:
    """Where a view goes: the directive's file, or <name>.<extension>; delimited text may be compressed."""
    chosen = wanted or "csv"
    path = out / (output.filename or f"{output.title}.csv{GZIP if output.compress else ''}")
    if chosen != "csv":
        return RowTarget(path.with_name(path.name.removesuffix(GZIP)).with_suffix(f".{chosen}"), chosen, output)
    return RowTarget(path, chosen, output, output.compress)


def change_target(output: Output, folder: Path, wanted: Format | None) -> RowTarget:
    """Where the changes of a view in one epoch go; the extension tells the delimiter, so that they can be read back."""
    chosen = wanted or "csv"
    extension = {"\t": "tsv", ",": "csv"}.get(output.delimiter, "txt") if chosen == "csv" else chosen
    return RowTarget(folder / f"{output.name}.{extension}", chosen, output)


def clear(path: Path) -> None:
    """Remove what an earlier run has written to a target."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
