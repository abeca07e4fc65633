"""Parts of files in other file systems: each task fetches its part alone, and all parts together are the file.

Catches a line at the border of two parts that comes twice or never, a column or a footer that is not fetched, a file
that is fetched more often than once, and an error that tells another line or file than that of the whole.
"""

from __future__ import annotations

import gzip
import io
import json
import random

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltic
from deltic import DataError, External
from deltic.pipeline.connectors import places
from deltic.pipeline.connectors.file_reader import FileReader
from deltic.pipeline.io.rounding import Rounding
from deltic.values.types import Column, Schema, Type

SCHEMA = Schema((Column("id", Type.INT64, True), Column("said", Type.STRING, True), Column("day", Type.STRING, True)))


class Counted(fsspec.get_filesystem_class("memory")):
    """Tells how many bytes were fetched, and of how many files all."""

    def cat_file(self, path, start=None, end=None, **options):
        found = super().cat_file(path, start, end, **options)
        Counted.bytes += len(found)
        return found

    def get_file(self, *given, **options):
        Counted.files += 1
        return super().get_file(*given, **options)


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    Counted.bytes = Counted.files = 0
    monkeypatch.setattr(places, "_SOME", 64)
    monkeypatch.setattr(places, "_BLOCK", 100)
    fsspec.register_implementation("memory", Counted, clobber=True)
    yield
    fsspec.register_implementation("memory", Counted.__mro__[1], clobber=True)
    fsspec.filesystem("memory").store.clear()


def put(name, data):
    fsspec.filesystem("memory").pipe_file(f"/place/day=x/{name}", data)


def reader(kind, **options):
    return FileReader("memory://place", External(kind, path="memory://place", **options), "t", SCHEMA)


def parts(read, name, shares):
    """The rows of each share of a file."""
    stamp, rounding = read.folder.stamp(name), Rounding()
    return [
        sorted(
            tuple(row.values()) for part in read.parts(name, stamp, rounding, share, shares) for row in part.to_pylist()
        )
        for share in range(shares)
    ]


def rows_of(rng, count, longest):
    return [(n, rng.choice(["a", "ö", "x" * rng.randrange(1, longest)])) for n in range(count)]


def text(rows, kind):
    lines = [json.dumps({"id": n, "said": said}) if kind == "json" else f"{n},{said}" for n, said in rows]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("seed", range(12))
def test_lines(kind, seed):
    rng = random.Random(seed)
    rows = rows_of(rng, rng.choice([0, 1, 5, 80]), rng.choice([3, 400]))
    has_headers = kind == "csv" and seed % 3 == 0
    data = (
        b"\xef\xbb\xbf" * (seed % 2 and len(rows) > 5)
        + b"id,said\n" * has_headers
        + text(rows, kind)
        + b"\n" * rng.randrange(2)
    )
    put(f"a.{kind}", data)
    read = reader(kind, **({"headers": True} if has_headers else {}))
    name, shares = f"day=x/a.{kind}", rng.choice([2, 3, 7])
    found = parts(read, name, shares)
    assert sorted(row for each in found for row in each) == [(n, said, "x") for n, said in rows]
    assert not Counted.files
    if len(data) > 1000:
        assert sum(map(bool, found)) > 1
        assert Counted.bytes < len(data) + shares * 2 * (64 + 64 + 520)


@pytest.mark.parametrize("shares", [2, 5, 40])
def test_row_groups_and_columns(shares):
    """The other columns of the file stay where they are."""
    rows, sink = rows_of(random.Random(1), 200, 9), io.BytesIO()
    more = [random.Random(n).randbytes(500) for n in range(200)]
    made = pa.table({"more": more, "id": [n for n, _ in rows], "said": [said for _, said in rows]})
    pq.write_table(made, sink, row_group_size=20)
    put("a.parquet", sink.getvalue())
    found = parts(reader("parquet"), "day=x/a.parquet", shares)
    assert sorted(row for each in found for row in each) == [(n, said, "x") for n, said in rows]
    assert sum(map(bool, found)) == min(shares, 10)
    footer = int.from_bytes(sink.getvalue()[-8:-4], "little")
    assert (Counted.files, Counted.bytes < 20_000 + shares * (footer + 200)) == (0, True)


@pytest.mark.parametrize(
    ("name", "kind", "data"),
    [
        ("a.json", "json", b' [{"id": 1, "said": "a"},\n {"id": 2, "said": "b"}]'),
        ("packed.csv", "csv", gzip.compress(b"1,a\n2,b\n", mtime=0)),
    ],
    ids=["array", "packed"],
)
def test_what_cannot_be_cut_is_read_by_one(name, kind, data):
    put(name, data)
    found = parts(reader(kind), f"day=x/{name}", 3)
    assert sorted(found) == [[], [], [(1, "a", "x"), (2, "b", "x")]]


def test_how_many_shares():
    assert reader("csv").shares("a.csv", 1000, 250) == 4
    assert reader("parquet").shares("a.parquet", 1000, 250) == 4
    whole = [("csv", "a.csv.gz", {}), ("arrow", "a.arrow", {}), ("csv", "a.csv", {"rfc4180": True})]
    assert all(reader(kind, **options).shares(name, 1000, 250) == 1 for kind, name, options in whole)


def test_errors_tell_the_line_of_the_file():
    rows = text([(n, "a") for n in range(100)], "csv").replace(b"77,a", b"many,a")
    put("a.csv", rows)
    with pytest.raises(DataError, match=r"memory://place/day=x/a\.csv.*\b78\b"):
        parts(reader("csv"), "day=x/a.csv", 4)
    put("b.parquet", b"none" * 100)
    with pytest.raises(DataError, match=r"b\.parquet: not a Parquet file"):
        parts(reader("parquet"), "day=x/b.parquet", 4)


def test_a_file_that_is_written_meanwhile():
    put("a.csv", text([(n, "a") for n in range(50)], "csv"))
    read = reader("csv")
    found = read.parts("day=x/a.csv", read.folder.stamp("day=x/a.csv"), Rounding(), 0, 2)
    next(found)
    put("a.csv", text([(n, "b") for n in range(51)], "csv"))
    with pytest.raises(DataError, match="written while it was read"):
        list(found)
    assert deltic.External("csv", path="memory://place")
