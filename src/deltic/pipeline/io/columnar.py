"""Rows of files that hold columns: Parquet; Arrow IPC files, and streams in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io.columns import check_columns, conformed
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.parsed import Malformed, ParsedRows

_MAGIC = b"ARROW1"
_ROWS = 1 << 20


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


def row_groups(path: Path, layout: FileLayout) -> int:
    """Return the number of row groups of a file. DataError if it cannot hold rows of the table."""
    try:
        with pq.ParquetFile(path) as file:
            check_columns(file.schema_arrow, layout)
            return int(file.num_row_groups)
    except Malformed as error:
        raise DataError([error.at(str(path), 0, "")]) from error
    except pa.ArrowInvalid as error:
        raise DataError([Diagnostic("not a Parquet file", str(path))]) from error


def read_parquet(path: Path, groups: Sequence[int], layout: FileLayout, file: str) -> Iterator[ParsedRows]:
    """Yield the rows of consecutive row groups. Findings have the number of the row in the file, from 1."""
    signs = layout.sign_columns
    with pq.ParquetFile(path) as source:
        wanted = [name for name in source.schema_arrow.names if name in layout.schema.names or name in signs]
        first = 1 + sum(source.metadata.row_group(group).num_rows for group in range(groups[0])) if groups else 1
        for batch in source.iter_batches(columns=wanted, batch_size=_ROWS, row_groups=groups):
            yield conformed(pa.Table.from_batches([batch]), layout, file, first)
            first += len(batch)
