"""What is said about bad input files, with Spark and without: the same words. Catches a message that gets worse."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltic.errors import DataError
from deltic.pipeline.io.changes import epochs
from deltic.pipeline.io.loader import Loader, Rejects
from deltic.pipeline.io.locate import TableInput, files_at, locate, missing
from deltic.values.types import Schema, Type

EDGES = Schema.of(source=Type.INT64, label=Type.STRING)
READING = Schema.of(sensor=Type.UINT64, value=Type.FLOAT64)

# Name of the golden file: name and bytes of the bad file, and how the table is declared.
BAD_FILES = {
    "not-a-number": ("edge.tsv", b"1\tone\ntwo\ttwo\n3.5\tthree\n", {}),
    "empty-number": ("edge.csv", b"1,one\n,two\n", {}),
    "out-of-range": ("edge.csv", b"9223372036854775808,big\n-9223372036854775809,small\n", {}),
    "too-few-fields": ("edge.csv", b"1,one\n2\n3,\n", {}),
    "too-many-fields": ("edge.csv", b"1,one\n2,two,too\n", {}),
    "wrong-delimiter": ("edge.facts", b"1,one\n2,two\n", {}),
    "windows-line-ends": ("edge.csv", b"1,one\r\n2\r\n", {}),
    "headers-not-declared": ("edge.csv", b"source,label\n1,one\n", {}),
    "unclosed-quote": ("edge.csv", b'1,"one\n2,two\n', {"rfc4180": True}),
    "text-after-quote": ("edge.csv", b'1,"one"!\n', {"rfc4180": True}),
    "not-utf-8": ("edge.tsv", b"1\tcaf\xe9\n2\tcaf\xc3\xa9\n", {}),
    "unsigned-and-float": ("reading.csv", b"-1,2\n1,high\n1,1e999\n18446744073709551616,1\n,\n", {"schema": READING}),
    "json-syntax": ("edge.json", b'{"source": 1, "label": "one"}\n{"source": 2, label: "two"}\n', {}),
    "json-types": ("edge.jsonl", b'{"source": "1", "label": "a"}\n{"source": 1, "label": 5}\n{"source": 1}\n[1]\n', {}),
    "json-misspelt": ("edge.json", b'{"source": 1, "lable": "one"}\n', {}),
    "many": ("edge.csv", b"x,y\n" * 30, {}),
    "change-without-sign": ("edge.csv", b"+1,one\n2,two\n", {"signed": True}),
    "change-with-bad-field": ("edge.csv", b"+,1,one\n-,two,two\n-three,three\n", {"signed": True}),
    "change-json-op": ("edge.json", b'{"op": "upsert", "source": 1, "label": "a"}\n{"source": 1, "label": "a"}\n',
                       {"signed": True}),
}  # fmt: skip

BAD_PARQUET = {
    "parquet-null": ({"source": [1, None, 3], "label": ["a", "b", None]}, {}),
    "parquet-type": ({"source": ["1"], "label": ["a"]}, {}),
    "parquet-column": ({"source": [1], "lable": ["a"]}, {}),
    "parquet-range": ({"sensor": [-1, 1], "value": [0.5, 1.0]}, {"schema": READING}),
    "parquet-op": ({"source": [1, 2], "label": ["a", "b"], "op": ["+", "~"]}, {"signed": True}),
    "parquet-without-op": ({"source": [1], "label": ["a"]}, {"signed": True}),
}


# Enough to tell that both readers say the same: where lines come from and how they are counted is all that differs.
WITH_SPARK = {
    *("not-a-number", "windows-line-ends", "unclosed-quote", "not-utf-8", "many", "change-with-bad-field"),
    *("json-types", "parquet-null", "parquet-type"),
}


def with_readers(kinds):
    """Each kind with Arrow; some of them with Spark, where a test takes a second."""
    both = [pytest.param(kind, "spark", marks=pytest.mark.spark) for kind in kinds if kind in WITH_SPARK]
    return [*((kind, "arrow") for kind in kinds), *both]


def message_of(reader, path: Path, schema: Schema = EDGES, signed: bool = False, **options) -> str:
    source = TableInput(path.stem, schema, **options)
    with pytest.raises(DataError) as caught:
        Loader(reader, None).load([files_at(source, path, signed)])
    return str(caught.value)


@pytest.mark.parametrize(("kind", "reader"), with_readers(BAD_FILES), indirect=["reader"])
def test_bad_text_and_json(kind, reader, here, golden):
    name, content, options = BAD_FILES[kind]
    (here / name).write_bytes(content)
    golden(f"data/{kind}.txt", message_of(reader, Path(name), **options))


@pytest.mark.parametrize(("kind", "reader"), with_readers(BAD_PARQUET), indirect=["reader"])
def test_bad_parquet(kind, reader, here, golden):
    columns, options = BAD_PARQUET[kind]
    pq.write_table(pa.table(columns), "edge.parquet")
    golden(f"data/{kind}.txt", message_of(reader, Path("edge.parquet"), **options))


def test_not_parquet(reader, here, golden):
    (here / "edge.parquet").write_bytes(b"1,one\n")
    golden("data/not-parquet.txt", message_of(reader, Path("edge.parquet")))


def test_lines_are_numbered_in_each_part_file_after_the_header(reader, here, golden):
    (here / "edge.csv").mkdir()
    for part in (1, 2, 10):
        (here / "edge.csv" / f"part-{part}.csv").write_text(f"source,label\n1,one\n\nx{part},bad\n")
    golden("data/part-files.txt", message_of(reader, Path("edge.csv"), headers=True))


def test_skipping_writes_rejects_with_their_reasons(reader, here, golden):
    (here / "edge.csv").write_bytes(b'1,one\ntwo,"2"\n3\n4,four\n\xff,\n')
    rejects = Rejects(here / "rejects", ["edge"], limit=100)
    tables = Loader(reader, rejects).load([files_at(TableInput("edge", EDGES), Path("edge.csv"), False)])
    assert tables["edge"].sort_by("source").to_pylist() == [
        {"source": 1, "label": "one"},
        {"source": 4, "label": "four"},
    ]
    assert rejects.count == 3
    golden("data/rejects.csv", (here / "rejects" / "edge.csv").read_text(encoding="utf-8"))


def test_missing_files(here, golden):
    (here / "facts").mkdir()
    default = missing(TableInput("edge", EDGES), Path("facts"))
    named = missing(TableInput("edge", EDGES, filename="edges/all.csv"), Path("facts"))
    folder = missing(TableInput("edge", EDGES), Path("fatcs"))
    golden("data/missing-file.txt", "\n\n".join(map(str, (default, named, folder))))


def test_two_files_for_one_table(here, golden):
    for name in ("edge.csv", "edge.parquet"):
        (here / name).write_bytes(b"")
    with pytest.raises(DataError) as caught:
        locate(TableInput("edge", EDGES), Path())
    golden("data/two-files.txt", str(caught.value))


def test_changes_of_unknown_tables(here, golden):
    inputs = [TableInput(name, EDGES) for name in ("edge", "node")]
    (here / "changes" / "3").mkdir(parents=True)
    for name in ("1.edge.csv", "2.egde.csv", "3/nodes.csv", "4.csv", "5.edge.xlsx"):
        (here / "changes" / name).write_bytes(b"")
    with pytest.raises(DataError) as caught:
        epochs(Path("changes"), inputs)
    golden("data/unknown-changes.txt", str(caught.value))
