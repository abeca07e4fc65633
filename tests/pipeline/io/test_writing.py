"""What is written is what was there: reading it back, in every format, with Spark and without."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from deltic.circuit.tables import WEIGHT
from deltic.pipeline.io.directives import Output
from deltic.pipeline.io.locate import TableInput, files_at
from deltic.pipeline.io.parsed import rows_to_table
from deltic.pipeline.io.render import count_unreadable
from deltic.pipeline.io.target import RowTarget, change_target, view_target
from deltic.values.types import Schema, Type

SCHEMA = Schema.of(n=Type.INT64, s=Type.STRING, f=Type.FLOAT64, u=Type.UINT64)
ROWS = [
    (1, "plain", 0.5, 0),
    (-(2**63), "", -1e300, 2**64 - 1),
    (2, 'quo"ted, \\ é \u2028', float("inf"), 3),
    (3, '"', -0.0, 4),
]
CSV = Output("r", SCHEMA, delimiter=",", rfc4180=True, headers=True)
TSV = Output("r", SCHEMA)


def read_back(reader, target: RowTarget, signed: bool):
    output = target.output
    source = TableInput("r", SCHEMA, None, output.delimiter, output.headers, output.rfc4180)
    batch = reader.read(files_at(source, target.path, signed), None)
    assert batch.rejects == ()
    return sorted(tuple(row.values()) for row in batch.table.to_pylist())


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("form", "output"),
    [("csv", TSV), ("csv", CSV), ("json", TSV), ("parquet", TSV)],
    ids=["plain", "rfc4180", "json", "parquet"],
)
def test_rows_come_back(form, output, signed, writer, tmp_path):
    from deltic.pipeline.io.splits import ArrowReader

    weights = [1, -1, -1, 1] if signed else [1] * 4
    rows = rows_to_table(list(zip(ROWS, weights, strict=True)), SCHEMA, signed)
    target = change_target(output, tmp_path, form) if signed else view_target(output, tmp_path, form)
    writer.write(rows_to_table([], SCHEMA, signed), target)
    assert read_back(ArrowReader(), target, signed) == []
    writer.write(rows, target)
    expected = [(*row, weight) if signed else row for row, weight in zip(ROWS, weights, strict=True)]
    assert read_back(ArrowReader(), target, signed) == sorted(expected)


def test_the_default_is_what_souffle_writes(tmp_path):
    from deltic.pipeline.io.target import ArrowWriter

    target = view_target(TSV, tmp_path, None)
    ArrowWriter().write(rows_to_table([((1, "a b", 0.5, 2), 1)], SCHEMA, False), target)
    assert target.path == tmp_path / "r.csv"
    assert target.path.read_text() == "1\ta b\t0.5\t2\n"


@pytest.mark.parametrize(
    ("output", "form", "view", "change"),
    [
        (TSV, None, "r.csv", "r.tsv"),
        (CSV, None, "r.csv", "r.csv"),
        (Output("r", SCHEMA, filename="sub/all.txt", delimiter="|"), None, "sub/all.txt", "r.txt"),
        (Output("r", SCHEMA, filename="sub/all.txt"), "parquet", "sub/all.parquet", "r.parquet"),
        (TSV, "json", "r.json", "r.json"),
    ],
)
def test_names_of_files(output, form, view, change):
    assert view_target(output, Path("out"), form).path == Path("out") / view
    assert change_target(output, Path("out"), form).path == Path("out") / change


def test_a_weight_of_three_is_three_lines(tmp_path):
    rows = rows_to_table([((1, "a", 0.5, 2), 3), ((2, "b", 0.5, 2), -2)], SCHEMA, True)
    lines = change_target(TSV, tmp_path, None).lines(rows).to_pylist()
    assert sorted(lines) == ["+\t1\ta\t0.5\t2"] * 3 + ["-\t2\tb\t0.5\t2"] * 2


def test_the_row_without_columns(writer, tmp_path):
    target = view_target(Output("flag", Schema(())), tmp_path, None)
    writer.write(pa.table({"": pa.nulls(1)}).select([]), target)
    files = sorted(tmp_path.rglob("*.txt")) or [target.path]
    assert "".join(path.read_text() for path in files) == "()\n"


def test_symbols_that_text_cannot_hold_are_counted():
    rows = pa.table({"s": ["a", "a\tb", "a\nb", "a\rb", "a,b"]})
    assert count_unreadable(rows, "\t", False) == 3
    assert count_unreadable(rows, ",", True) == 0
    assert count_unreadable(pa.table({WEIGHT: [1]}), ",", False) == 0


def test_a_file_takes_the_place_of_a_folder_and_the_other_way_round(tmp_path, spark):
    from deltic.pipeline.io.by_spark import SparkWriter
    from deltic.pipeline.io.target import ArrowWriter

    rows, target = rows_to_table([((1, "a", 0.5, 2), 1)], SCHEMA, False), view_target(TSV, tmp_path, None)
    SparkWriter(spark).write(rows, target)
    assert target.path.is_dir()
    ArrowWriter().write(rows, target)
    assert target.path.is_file()
    SparkWriter(spark).write(rows, target)
    assert target.path.is_dir()
