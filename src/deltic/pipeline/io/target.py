"""Targets of a relation's rows, and their formats; Arrow alone writes one file for each relation."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.tables import WEIGHT
from deltic.errors import UnsupportedError
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


_SLICE = 1 << 20


class ArrowWriter:
    """Writes in this process, a slice of the rows at a time; a file appears when it is complete."""

    def write(self, rows: pa.Table, target: RowTarget) -> None:
        """Write the rows to the target's file."""
        target.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.path.with_name(f".{target.path.name}.unfinished")
        try:
            with naming(target.path):
                if target.format == "parquet":
                    _write_parquet(rows, unfinished)
                elif target.format == "arrow":
                    _write_arrow(rows, unfinished)
                else:
                    _write_lines(rows, target, unfinished)
            if target.path.is_dir():
                clear(target.path)
            os.replace(unfinished, target.path)
        finally:
            unfinished.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file to errors of the system that do not name it, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename or not error.errno:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def _write_parquet(rows: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetWriter(path, rows.schema) as writer:
            for part in slices(rows, _SLICE):
                writer.write_table(part)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedError(f"Parquet does not hold these rows: {error}; Arrow files and JSON lines do") from error


def _write_arrow(rows: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=_SLICE)


def _write_lines(rows: pa.Table, target: RowTarget, path: Path) -> None:
    with gzip.open(path, "wb") if target.is_compressed else path.open("wb") as file:
        for line in target.header(WEIGHT in rows.column_names):
            file.write(line.encode() + b"\n")
        for part in slices(rows, _SLICE):
            file.write(_as_bytes(target.lines(part)))


def slices(rows: pa.Table, size: int) -> Iterator[pa.Table]:
    """Yield the rows in parts of at most `size`."""
    for start in range(0, len(rows), size):
        yield rows.slice(start, min(size, len(rows) - start))


def _as_bytes(lines: pa.ChunkedArray) -> memoryview:
    """Return the lines, each with a newline, as one buffer."""
    newline, nothing = (pa.scalar(text, pa.large_string()) for text in ("\n", ""))
    ended = pc.binary_join_element_wise(lines.cast(pa.large_string()), newline, nothing).combine_chunks()
    offsets, data = ended.buffers()[1:]
    bounds = memoryview(offsets).cast("q")
    return memoryview(data)[bounds[ended.offset] : bounds[ended.offset + len(ended)]]
