"""Arrow tables as bytes, and back: streams of Arrow's own format."""

from __future__ import annotations

import pyarrow as pa


def to_stream(rows: pa.Table, batch: int | None = None, compression: str | None = None) -> pa.Buffer:
    """A table as a stream, in batches of no more rows than `batch`."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        stream.write_table(rows, max_chunksize=batch)
    return sink.getvalue()


def of_stream(data: object) -> pa.Table:
    """The table of a stream, which stands in what the buffer protocol gives; its columns stand there, too."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
        return stream.read_all()
