"""The files of a target: Parquet files, and a listing with their epoch, and the contents of each."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltic.engine.files.files import Files
from deltic.errors import DelticError
from deltic.pipeline.connectors.buckets import BucketFile, Listing
from deltic.pipeline.connectors.hashes import digest, row_hashes
from deltic.pipeline.connectors.target import TargetMark

LISTING = "_deltic.json"


def rows_of(files: Files, part: BucketFile) -> pa.Table | None:
    """Return the rows of a file; None if it cannot be read."""
    try:
        return pq.read_table(pa.BufferReader(files.read(part.file)), partitioning=None)
    except (OSError, pa.ArrowException):
        return None


def write_part(files: Files, bucket: int, rows: pa.Table, stored: pa.Table | None = None) -> BucketFile:
    """Write the rows of a bucket to a new file, durably; in the form of `stored`, if given."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows if stored is None else stored, sink)
    name = f"part-{bucket:05}-{uuid.uuid4()}.parquet"
    size = files.write(name, [memoryview(sink.getvalue())])
    return BucketFile(name, len(rows), digest(row_hashes(rows, rows.column_names)), size)


def read_listing(files: Files, name: str = LISTING) -> dict[str, Any] | None:
    """Return the listing of the files; None if there is none, or it is incomplete."""
    try:
        result: dict[str, Any] = json.loads(files.read(name))
        return result
    except (OSError, ValueError):
        return None


def write_listing(files: Files, mark: TargetMark, listing: Listing, name: str = LISTING, **more: Any) -> None:
    """Write the listing of the files with their epoch. It appears when it is complete."""
    fields = {**more, "stamp": mark.stamp, "epoch": mark.epoch, "listing": listing.to_json()}
    files.write(name, [json.dumps(fields).encode()])


def marked(found: dict[str, Any] | None) -> TargetMark | None:
    """Return the mark in a listing."""
    return None if found is None else TargetMark(found["stamp"], found["epoch"])


@contextmanager
def naming(address: str) -> Iterator[None]:
    """Convert errors of the system to errors that name the target."""
    try:
        yield
    except OSError as error:
        raise DelticError(f"{address}: it cannot be published ({error.strerror or error}); it is as before") from error
