"""Writes rows to files with Arrow alone: one file for each relation."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.tables import WEIGHT
from deltic.errors import UnsupportedError
from deltic.pipeline.io.target import RowTarget, clear

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
