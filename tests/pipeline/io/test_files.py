"""Which files are a table's, how they are read and what is in them; with Spark and without."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltic.errors import DataError
from deltic.pipeline.io.blocks import blocks
from deltic.pipeline.io.changes import epochs
from deltic.pipeline.io.layout import FileKind
from deltic.pipeline.io.locate import TableInput, files_at, locate
from deltic.pipeline.io.splits import ArrowReader, joined, splits
from deltic.pipeline.io.splits import read as split_rows
from deltic.values.types import Schema, Type

EDGES = Schema.of(source=Type.INT64, label=Type.STRING)


def read(reader, source: TableInput, folder: Path = Path(), signed: bool = False):
    changes = (folder / name for name in source.candidates if (folder / name).exists())
    files = files_at(source, next(changes), signed) if signed else locate(source, folder)
    assert files is not None
    batch = reader.read(files, None)
    assert batch.rejects == ()
    return sorted(tuple(row.values()) for row in batch.table.to_pylist())


def test_text_with_a_header_windows_line_ends_blank_lines_and_a_byte_order_mark(reader, here):
    (here / "edge.csv").write_bytes(b"\xef\xbb\xbfsource,label\r\n1,one\r\n\r\n2,\r\n")
    assert read(reader, TableInput("edge", EDGES, headers=True)) == [(1, "one"), (2, "")]


def test_a_header_is_skipped_in_every_part_file_and_compressed_ones_are_read(reader, here):
    (here / "edge.csv").mkdir()
    (here / "edge.csv" / "_SUCCESS").touch()
    (here / "edge.csv" / "part 1.csv").write_text("source,label\n1,one\n")
    with gzip.open(here / "edge.csv" / "part[2].csv.gz", "wt") as file:
        file.write("source,label\n2,two\n")
    assert read(reader, TableInput("edge", EDGES, headers=True)) == [(1, "one"), (2, "two")]


def test_one_symbol_to_a_line_where_the_empty_line_is_the_empty_symbol(reader, here):
    (here / "word.facts").write_text("a\n\nb,c\n")
    assert read(reader, TableInput("word", Schema.of(word=Type.STRING))) == [("",), ("a",), ("b,c",)]


def test_parquet_columns_go_by_name_and_others_are_ignored(reader, here):
    table = pa.table({"label": ["a"], "extra": [1.5], "source": pa.array([7], pa.int16())})
    pq.write_table(table, "edge.parquet")
    assert read(reader, TableInput("edge", EDGES)) == [(7, "a")]


def test_unsigned_and_float_columns_of_parquet(reader, here):
    schema = Schema.of(u=Type.UINT64, f=Type.FLOAT64)
    pq.write_table(pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "f": pa.array([0.5], pa.float32())}), "r.parquet")
    assert read(reader, TableInput("r", schema)) == [(2**64 - 1, 0.5)]


def test_json_lines(reader, here):
    (here / "edge.jsonl").write_text('{"label": "é", "source": 1}\n\n{"source": 2, "label": "", "more": [1]}\n')
    assert read(reader, TableInput("edge", EDGES)) == [(1, "é"), (2, "")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("edge.csv", "+,1,a\n-2,b\n"),
        ("edge.json", '{"op":"+","source":1,"label":"a"}\n{"op":"delete","source":2,"label":"b"}\n'),
        ("edge.jsonl", '{"__weight__":1,"source":1,"label":"a"}\n{"__weight__":-1,"source":2,"label":"b"}\n'),
    ],
)
def test_changes(name, content, reader, here):
    (here / name).write_text(content)
    assert read(reader, TableInput("edge", EDGES), signed=True) == [(1, "a", 1), (2, "b", -1)]


def test_changes_in_parquet(reader, here):
    pq.write_table(pa.table({"source": [1, 2], "label": ["a", "b"], "op": ["insert", "-"]}), "edge.parquet")
    assert read(reader, TableInput("edge", EDGES), signed=True) == [(1, "a", 1), (2, "b", -1)]


def test_an_empty_file_and_an_empty_folder_hold_no_rows(reader, here):
    (here / "edge.csv").touch()
    (here / "node.parquet").mkdir()
    assert read(reader, TableInput("edge", EDGES)) == read(reader, TableInput("node", EDGES)) == []


def test_rows_without_columns(reader, here):
    (here / "flag.facts").write_text("()\n")
    batch = reader.read(locate(TableInput("flag", Schema(())), Path()), None)
    assert len(batch.table) == 1


@pytest.mark.parametrize(
    ("source", "name", "kind", "delimiter"),
    [
        (TableInput("edge", EDGES), "edge.facts", FileKind.TEXT, "\t"),
        (TableInput("edge", EDGES), "edge.csv", FileKind.TEXT, ","),
        (TableInput("edge", EDGES), "edge.tsv", FileKind.TEXT, "\t"),
        (TableInput("edge", EDGES, delimiter="|"), "edge.csv", FileKind.TEXT, "|"),
        (TableInput("edge", EDGES, delimiter="|"), "edge.txt", FileKind.TEXT, "|"),
        (TableInput("edge", EDGES, rfc4180=True), "edge.facts", FileKind.TEXT, ","),
        (TableInput("edge", EDGES, filename="sub/all.data"), "sub/all.data", FileKind.TEXT, "\t"),
        (TableInput("edge", EDGES, filename="all.parquet"), "all.parquet", FileKind.PARQUET, "\t"),
        (TableInput("edge", EDGES), "edge.jsonl.gz", FileKind.JSON, "\t"),
    ],
)
def test_where_rows_are_looked_for_and_how_they_are_written(source, name, kind, delimiter, here):
    (here / name).parent.mkdir(exist_ok=True)
    (here / name).touch()
    files = locate(source, Path())
    assert files is not None
    assert (files.paths, files.layout.kind, files.layout.delimiter) == ((Path(name),), kind, delimiter)


def test_the_facts_file_comes_before_what_a_run_may_have_written_beside_it(here):
    (here / "edge.facts").touch()
    (here / "edge.csv").touch()
    assert locate(TableInput("edge", EDGES), Path()).paths == (Path("edge.facts"),)


def test_a_file_is_read_in_blocks_of_whole_lines(here):
    """Blocks far smaller than the file and than some of its lines."""
    lines = [f"{'x' * (i % 40)}{i}" for i in range(200)]
    for ending in ("", "\n"):
        (here / "long.txt").write_text("\n".join(lines) + ending)
        assert b"".join(blocks(here / "long.txt", size=16)).decode().splitlines() == lines


@pytest.mark.parametrize("size", [4, 7, 16, 1000])
def test_every_line_belongs_to_one_part_of_its_file(here, size):
    lines = [f"{'x' * (i % 9)}{i}" for i in range(60)]
    (here / "long.txt").write_text("\n".join(["\ufeff" + lines[0], *lines[1:]]))
    parts = [b"".join(blocks(here / "long.txt", start, start + size)) for start in range(0, 600, size)]
    assert b"".join(parts).decode().splitlines() == lines


@pytest.mark.parametrize("headers", [False, True])
@pytest.mark.parametrize("limit", [None, 0, 3])
def test_parts_of_files_have_their_lines_numbered_as_in_the_file(here, headers, limit):
    """Part files, each cut into parts; read here as Spark's tasks do."""
    rows = ["a,b,c", *(f"{i},{'bad' if i % 7 == 0 else i},x" for i in range(1, 200))]
    (here / "parts.csv").mkdir()
    (here / "parts.csv" / "cut.csv").write_text("\n".join(rows))
    (here / "parts.csv" / "more.csv").write_text("\n".join(rows[:50]))
    schema = Schema.of(a=Type.INT64, b=Type.INT64, c=Type.STRING)
    files = files_at(TableInput("parts", schema, headers=headers), Path("parts.csv"), False)
    cut = list(splits(files, 128))
    assert len(cut) > 15
    batch = joined(((split, batch) for split in cut for batch in split_rows(split, files.layout)), files.layout, limit)
    whole = ArrowReader().read(files, limit)
    assert batch.rejects == whole.rejects
    assert batch.rejects[0].line == (8 if headers else 1)
    if limit is None:
        assert batch.table.equals(whole.table)


def test_row_groups_of_parquet_are_parts(here):
    table = pa.table({"source": list(range(10)), "label": [None if i == 7 else "x" for i in range(10)]})
    pq.write_table(table, "edge.parquet", row_group_size=3)
    files = files_at(TableInput("edge", EDGES), Path("edge.parquet"), False)
    cut = list(splits(files, 1))
    assert [(split.start, split.end) for split in cut] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    batch = joined(((split, batch) for split in cut for batch in split_rows(split, files.layout)), files.layout, None)
    assert batch == ArrowReader().read(files, None)
    assert (len(batch.table), batch.rejects[0].line) == (9, 8)


@pytest.mark.spark
def test_spark_reads_the_parts_in_tasks(spark, here):
    from deltic.pipeline.io.by_spark import SparkReader

    (here / "edge.csv").write_text("".join(f"{i},{'x' * (i % 9)}\n" for i in range(100)) + "x,x\n" * 9)
    files = files_at(TableInput("edge", EDGES), Path("edge.csv"), False)
    for limit in (3, None):
        expected = ArrowReader().read(files, limit)
        batch = SparkReader(spark, split=100).read(files, limit)
        assert batch.rejects == expected.rejects
    assert batch.table.equals(expected.table)


def test_epochs_come_in_natural_order_and_their_files_find_their_tables(here):
    changes = here / "changes"
    for name in ("10.node.csv", "2.edge.tsv", "9", "9/edge.csv", "9/n.txt", "1.node.json.gz", ".hidden", "_SUCCESS"):
        path = changes / name
        path.parent.mkdir(exist_ok=True)
        path.mkdir() if name == "9" else path.touch()
    (changes / "3.node.parquet").mkdir()
    inputs = [TableInput("edge", EDGES), TableInput("node", EDGES, filename="data/n.txt")]
    found = epochs(changes, inputs)
    assert [(epoch.name, [files.table for files in epoch.files]) for epoch in found] == [
        ("1.node.json.gz", ["node"]),
        ("2.edge.tsv", ["edge"]),
        ("3.node.parquet", ["node"]),
        ("9", ["edge", "node"]),
        ("10.node.csv", ["node"]),
    ]
    assert all(files.layout.signed for epoch in found for files in epoch.files)


def test_with_one_table_any_name_will_do(here):
    (here / "monday.csv").touch()
    assert [epoch.files[0].table for epoch in epochs(here, [TableInput("edge", EDGES)])] == ["edge"]


def test_two_files_of_one_table_in_one_epoch_are_refused(here):
    (here / "1").mkdir()
    for name in ("edge.csv", "edge.json"):
        (here / "1" / name).touch()
    with pytest.raises(DataError, match=r"edge.json: table edge: edge.csv holds changes of it already"):
        epochs(here, [TableInput("edge", EDGES)])


def test_a_first_line_that_names_the_columns_tells_where_they_stand(reader, here):
    (here / "edge.csv").mkdir()
    (here / "edge.csv" / "part-1.csv").write_text('Label, note,SOURCE\n"a,b",x,1\n')
    (here / "edge.csv" / "part-2.csv").write_text("label,note,source\nc,,2\n")
    (here / "edge.csv" / "part-3.csv").write_text("")
    named = TableInput("edge", EDGES, rfc4180=True, by_name=True)
    assert read(reader, named) == [(1, "a,b"), (2, "c")]
    (here / "edge.csv" / "part-2.csv").write_text("source,label\n2,c\n")
    with pytest.raises(DataError, match=r"part-2\.csv:1: table edge: the columns are in another order than in edge"):
        read(reader, named)


@pytest.mark.parametrize("header", ["op,label,source", "label,source", "source,label"])
def test_in_changes_a_header_may_name_the_sign(reader, here, header):
    row = {"label": "a", "source": "1"}
    message = ",".join(row[name] for name in header.split(",") if name in row)
    (here / "edge.csv").write_text(f"{header}\n+{message}\n-,{message.replace('1', '2')}\n")
    assert read(reader, TableInput("edge", EDGES, by_name=True), signed=True) == [(1, "a", 1), (2, "a", -1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("source,labl", "no field has the name of the column label"),
        ("source,label,label", "two fields have the name of the column label"),
        ('source,"label', "this quote is never closed"),
    ],
)
def test_a_first_line_that_does_not_name_the_columns_is_refused(here, line, message):
    (here / "edge.csv").write_text(f"{line}\n1,a\n")
    with pytest.raises(DataError, match=rf"edge\.csv:1:1: table edge: {message}"):
        locate(TableInput("edge", EDGES, rfc4180=True, by_name=True), Path())
