"""Conversion between Arrow tables and bytes in Arrow's stream format."""

from __future__ import annotations

import pyarrow as pa


def to_stream(rows: pa.Table, batch: int | None = None, compression: str | None = None) -> pa.Buffer:
    """Return a table as a stream, in batches of at most `batch` rows."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        stream.write_table(rows, max_chunksize=batch)
    return sink.getvalue()


def of_stream(data: object) -> pa.Table:
    """Return the table of a stream in a buffer, without copying its columns."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
        return stream.read_all()
