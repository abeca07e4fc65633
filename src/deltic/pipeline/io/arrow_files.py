"""Rows of Arrow IPC files, and of streams in files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.columns import check_columns, conformed
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.malformed import Malformed
from deltic.pipeline.io.parsed import ParsedRows

_MAGIC = b"ARROW1"


def read_arrow(path: Path, layout: FileLayout, file: str) -> Iterator[ParsedRows]:
    """Yield the rows of a file. Findings have the number of the row in it, from 1. DataError if it has no rows of the
    table.
    """
    try:
        first = 1
        for batch in _batches(path, layout):
            yield conformed(pa.Table.from_batches([batch]), layout, file, first)
            first += batch.num_rows
    except Malformed as error:
        raise DataError([error.at(file, 0, "")]) from error
    except pa.ArrowException as error:
        raise DataError([Diagnostic(f"not an Arrow IPC file: {error}", file)]) from error


def _batches(path: Path, layout: FileLayout) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as source:
        is_file = source.read(len(_MAGIC)) == _MAGIC
        source.seek(0)
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        check_columns(reader.schema, layout)
        if is_file:
            yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            yield from reader
