"""The rows of a view in files, of which only those with changed rows are rewritten.

The hash of all or some columns of a row chooses its bucket; a nonempty bucket is one file. The listing of the files has
the number of rows and the digest of each. So a damaged file is detected, and if the changes are unknown, the
buckets are compared by their digests, without reading files.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deltic.catalog import External
from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import with_weights
from deltic.engine.comparing import netted
from deltic.engine.files.files import Files
from deltic.errors import CatalogError, DelticError, UnsupportedError
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark
from deltic.pipeline.names import find
from deltic.values.hashing import xxhash64

_ROWS = 1 << 16
"""The default number of rows of a file, roughly."""
_FULL = 4
"""Rows are divided again once files have this many times that number."""


@dataclass(frozen=True)
class BucketFile:
    """A file: its name, number of rows, their digest, and its size in bytes."""

    file: str
    rows: int
    digest: int
    bytes: int


@dataclass(frozen=True)
class Listing:
    """The files of a target by bucket, of which there are `count`; `by` are the columns that choose the bucket."""

    schema: str
    by: tuple[str, ...]
    count: int
    parts: Mapping[int, BucketFile]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(part.rows for part in self.parts.values())

    def to_json(self) -> dict[str, Any]:
        """Return the listing as JSON."""
        parts = {str(bucket): asdict(part) for bucket, part in self.parts.items()}
        return {"hashes": HASHES, "schema": self.schema, "by": list(self.by), "count": self.count, "parts": parts}

    @classmethod
    def of_json(cls, kept: Mapping[str, Any]) -> Listing | None:
        """Return the listing from its JSON; None if its rows were divided by other hashes."""
        if kept.get("hashes") != HASHES:
            return None
        parts = {int(bucket): BucketFile(**part) for bucket, part in kept["parts"].items()}
        return cls(kept["schema"], tuple(kept["by"]), kept["count"], parts)


@dataclass(frozen=True)
class BucketPlan:
    """The files to write, with their rows, and the files that stay. Others are removed."""

    schema: str
    by: tuple[str, ...]
    count: int
    new: Mapping[int, pa.Table]
    kept: Mapping[int, BucketFile]
    how: str
    read: int = 0
    """The bytes of files that were read for it."""
    is_same: bool = False
    """Whether all files stay, and no other one is written."""

    def listing(self, made: Mapping[int, BucketFile]) -> Listing:
        """Return the listing with the new files."""
        return Listing(self.schema, self.by, self.count, {**self.kept, **made})

    def published(self, made: Mapping[int, BucketFile]) -> PublishedRows:
        """Return the report, with the new files."""
        rows, size = sum(part.rows for part in made.values()), sum(part.bytes for part in made.values())
        return PublishedRows(self.how, rows, len(made), size, len(self.kept), self.read)


def planned(
    place: External, shown: PublishedView, known: Mapping[str, Any] | None, delta: pa.Table | None, files: Files
) -> BucketPlan:
    """Return the plan to give a target with these files a view's rows; `known` is what `read_listing` returned."""
    there = None if known is None else Listing.of_json(known["listing"])
    plan = _planned(place, shown, there, delta, files)
    return replace(plan, is_same=there is not None and plan.kept == there.parts and not plan.new)


def _planned(
    place: External, shown: PublishedView, there: Listing | None, delta: pa.Table | None, files: Files
) -> BucketPlan:
    by = place.listed("by")
    for name in by:
        find(name, f"column of {shown.name}", shown.schema.types)
    if len(set(by)) < len(by):
        raise CatalogError(f"{place}: by names a column twice")
    by, size, schema = by or shown.schema.names, place.number("rows", _ROWS), str(shown.schema)
    if there is None or (there.schema, there.by) != (schema, by):
        return _anew(shown, schema, by, size)
    if shown.is_doubtful:
        whole = {bucket: part for bucket, part in there.parts.items() if _held(part, shown.schema.to_arrow(), files)}
        there = replace(there, parts=whole)
    if delta is not None:
        grown = there.rows + int(np.asarray(delta.column(WEIGHT)).sum())
        if grown > _FULL * size * there.count:
            return _anew(shown, schema, by, size)
        if (result := _changed(there, delta, files)) is not None:
            return result
    return _compared(shown, there, size)


def _anew(shown: PublishedView, schema: str, by: tuple[str, ...], size: int) -> BucketPlan:
    rows = shown.rows()
    count = max(1, -(-len(rows) // size))
    new = _divided(rows, _buckets(rows, by, count)) or {0: rows}
    return BucketPlan(schema, by, count, new, {}, "all files written")


def _changed(there: Listing, delta: pa.Table, files: Files) -> BucketPlan | None:
    """Return the buckets of changed rows, read from their files; None if a file does not match the listing."""
    columns = [name for name in delta.column_names if name != WEIGHT]
    new, size = dict[int, pa.Table](), 0
    for bucket, changes in _divided(delta, _buckets(delta, there.by, there.count)).items():
        held = changes.slice(0, 0).select(columns)
        if (part := there.parts.get(bucket)) is not None:
            result = _held(part, held.schema, files)
            if result is None:
                return None
            held, size = result, size + part.bytes
        made = _applied(held, changes)
        if made is None:
            return None
        new[bucket] = made
    return _partly(there, new, "changed files", size)


def _partly(there: Listing, new: Mapping[int, pa.Table], how: str, read: int = 0) -> BucketPlan:
    """Return the plan to rewrite some files. At least one file remains, so that readers find the columns."""
    kept = {bucket: part for bucket, part in there.parts.items() if bucket not in new}
    wanted = {bucket: rows for bucket, rows in new.items() if len(rows)}
    if not kept and not wanted:
        wanted = dict(list(new.items())[:1])
    return BucketPlan(there.schema, there.by, there.count, wanted, kept, how, read)


def _held(part: BucketFile, schema: pa.Schema, files: Files) -> pa.Table | None:
    """Return the rows of a file; None if it cannot be read, or they do not match the listing."""
    try:
        result = pq.read_table(pa.BufferReader(files.read(part.file)), partitioning=None)
    except (OSError, pa.ArrowException):
        return None
    if result.column_names != schema.names:
        return None
    result = result.cast(schema)
    return result if digest(row_hashes(result, schema.names)) == part.digest else None


def _applied(held: pa.Table, changes: pa.Table) -> pa.Table | None:
    """Return rows after changes; None if an absent row would be deleted."""
    result = netted(pa.concat_tables([with_weights(held, 1), changes.select([*held.column_names, WEIGHT])]))
    weights = np.asarray(result.column(WEIGHT))
    if (weights < 0).any():
        return None
    return result.drop_columns([WEIGHT]).take(pa.array(np.repeat(np.arange(len(result)), weights)))


def _compared(shown: PublishedView, there: Listing, size: int) -> BucketPlan:
    """Return the buckets whose rows differ from the listing."""
    rows = shown.rows()
    if len(rows) > _FULL * size * there.count:
        return _anew(shown, there.schema, there.by, size)
    buckets, hashes = _buckets(rows, there.by, there.count), row_hashes(rows, rows.column_names)
    sums, counts = np.zeros(there.count, np.uint64), np.bincount(buckets, minlength=there.count)
    np.add.at(sums, buckets, hashes)
    known = {bucket: (part.rows, part.digest) for bucket, part in there.parts.items()}
    differs = np.array([known.get(b, (0, 0)) != (int(counts[b]), int(sums[b])) for b in range(there.count)])
    chosen = differs[buckets]
    new = _divided(rows.filter(pa.array(chosen)), buckets[chosen])
    gone = {int(bucket): rows.slice(0, 0) for bucket in np.flatnonzero(differs) if int(bucket) not in new}
    return _partly(there, {**new, **gone}, "compared")


def _buckets(rows: pa.Table, by: tuple[str, ...], count: int) -> npt.NDArray[np.int64]:
    return (row_hashes(rows, by) % np.uint64(count)).astype(np.int64)


def _divided(rows: pa.Table, buckets: npt.NDArray[np.int64]) -> dict[int, pa.Table]:
    """Return the rows by bucket."""
    if not len(rows):
        return {}
    order = np.argsort(buckets, kind="stable")
    ordered, numbers = rows.take(pa.array(order)), buckets[order]
    result, starts = np.unique(numbers, return_index=True)
    ends = [*starts[1:].tolist(), len(numbers)]
    return {
        int(b): ordered.slice(start, end - start) for b, start, end in zip(result, starts.tolist(), ends, strict=True)
    }


HASHES = "xxhash64, NULL by place"
"""The name of the hashes in a listing of files. Hashes with different names are different."""

Hashes = npt.NDArray[np.uint64]


def row_hashes(rows: pa.Table, columns: Sequence[str]) -> Hashes:
    """Return a hash of each row by the values of these columns. NULL is a value; zeros are equal, and so are NaNs."""
    values = [_texts(column) if pa.types.is_nested(column.type) else column for column in map(rows.column, columns)]
    result = xxhash64(values, len(rows))
    for place, column in enumerate(values):
        if column.null_count:
            result = np.where(np.asarray(column.is_null()), result ^ np.uint64(1 << place % 64), result)
    return result


def digest(hashes: Hashes) -> int:
    """Return the sum of hashes."""
    return int(hashes.sum(dtype=np.uint64))


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """Return distinct texts for distinct values: the hash of a composite value leaves out NULL in it, and maps."""
    return pa.array((None if value is None else repr(value) for value in column.to_pylist()), pa.string())


LISTING = "_deltic.json"


def write_part(files: Files, bucket: int, rows: pa.Table, stored: pa.Table | None = None) -> BucketFile:
    """Write the rows of a bucket to a new file, durably; in the form of `stored`, if given."""
    name = f"part-{bucket:05}-{uuid.uuid4()}.parquet"
    size = write_parquet(files, name, rows if stored is None else stored)
    return BucketFile(name, len(rows), digest(row_hashes(rows, rows.column_names)), size)


def write_parquet(files: Files, name: str, rows: pa.Table) -> int:
    """Write rows to a file of Parquet, durably, and return its size. UnsupportedError for types that it lacks."""
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(rows, sink)
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedError(
            f"{files.place}: Parquet lacks a type of the view ({error}); cast it to a text"
        ) from error
    return files.write(name, [memoryview(sink.getvalue())])


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
