"""Views and changes written to files, and read back as such. Catches a value that a format does not keep."""

from __future__ import annotations

import random

import pytest

import deltic
from deltic import DataError, DelticError, File, Pipeline, UnsupportedError
from deltic.values.types import Column, Schema, Type
from tests.pipeline.fuzzing.values import random_schema, random_value

TEXT = [Type.INT64, Type.UINT64, Type.FLOAT64, Type.BOOLEAN, Type.DATE, Type.TIMESTAMP, Type.TIMESTAMP_NTZ]
ENDS = {
    "parquet": {},
    "arrow": {},
    "feather": {},
    "jsonl": {},
    "csv": {"headers": True, "rfc4180": True},
    "tsv": {"headers": True, "rfc4180": True},
}


def pipeline_of(schema):
    pipeline = Pipeline()
    pipeline.table("t", schema.to_arrow())
    pipeline.sql("CREATE VIEW v AS SELECT * FROM t")
    return pipeline


def shown(view):
    return sorted(map(repr, view))


@pytest.mark.parametrize("end", ["parquet", "arrow", "jsonl"])
def test_what_is_written_is_read_back(end, tmp_path):
    rng = random.Random(end)
    for _ in range(8):
        schema = random_schema(rng)
        if end == "parquet" and ("month" in str(schema) or "struct" in str(schema)):
            continue  # pyarrow writes no such intervals, and no NULL above a field that is never NULL
        rows = [tuple(random_value(rng, c.type, c.nullable) for c in schema) for _ in range(rng.choice([1, 5, 40]))]
        check(end, tmp_path, schema, rows)


@pytest.mark.parametrize("end", ["csv", "tsv"])
def test_delimited_text_is_read_back(end, tmp_path):
    rng = random.Random(end)
    schema = Schema((*(Column(f"c{i}", t, True) for i, t in enumerate(TEXT)), Column("s", Type.STRING)))
    for _ in range(5):
        check(end, tmp_path, schema, [tuple(random_value(rng, c.type, c.nullable) for c in schema) for _ in range(40)])


def check(end, folder, schema, rows):
    """The rows as a table's, and their changes by deleting half of them, through a file."""
    first, second = pipeline_of(schema), pipeline_of(schema)
    with first.transaction("normalize") as change:
        change.insert("t", rows)
    first["v"].rows().write(folder / f"rows.{end}")
    with second.transaction() as other:
        other.insert("t", File(folder / f"rows.{end}", **ENDS[end]))
    assert shown(second["v"]) == shown(first["v"])
    with first.transaction("normalize") as change:
        change.delete("t", rows[::2])
    change.of("v").write(folder / f"changes.{end}")
    with second.transaction() as other:
        other.change("t", File(folder / f"changes.{end}", **ENDS[end]))
    assert shown(second["v"]) == shown(first["v"])


def test_a_header_says_which_column_a_field_is_of(tmp_path):
    pipeline = pipeline_of(Schema.of(a=Type.INT64, b=Type.INT64.or_null, c=Type.STRING))
    (tmp_path / "t.csv").write_text("c,other,B,a\nx,9,2,1\ny,9,,3\n")
    with pipeline.transaction() as change:
        change.insert("t", deltic.File(tmp_path / "t.csv", headers=True))
    assert sorted(pipeline["t"]) == [(1, 2, "x"), (3, None, "y")]
    (tmp_path / "t.csv").write_text("c,bb,a\nx,2,1\n")
    message = r"t\.csv:1:1: table t: no field has the name of the column b"
    with pytest.raises(DataError, match=message), pipeline.transaction() as change:
        change.insert("t", deltic.File(tmp_path / "t.csv", headers=True))


def test_paths_and_what_is_wrong_with_them(tmp_path):
    pipeline = pipeline_of(Schema.of(a=Type.INT64, b=Type.STRING))
    (tmp_path / "t.tsv").write_text("1\tone\n2\ttwo\tmore\n")
    with pytest.raises(DataError, match=r"t\.tsv:2:7: expected 2 fields, found 3"), pipeline.transaction() as change:
        change.insert("t", tmp_path / "t.tsv")
    with pytest.raises(DataError, match="table t: there is no such file"), pipeline.transaction() as change:
        change.insert("t", deltic.File(tmp_path / "none.csv"))
    (tmp_path / "t.arrow").write_bytes(b"ARROW1 and nothing")
    with pytest.raises(DataError, match="not an Arrow IPC file"), pipeline.transaction() as change:
        change.insert("t", tmp_path / "t.arrow")
    with pipeline.transaction() as change:
        change.insert("t", [(1, "two\nlines")])
    pipeline["t"].rows().write(tmp_path / "t.csv")
    with pipeline.transaction("normalize") as change:
        change.insert("t", deltic.File(tmp_path / "t.csv", headers=True, rfc4180=True))
    assert list(pipeline["t"]) == [(1, "two\nlines")]
    with pytest.raises(DelticError, match="the suffix of a name is its format"):
        pipeline["t"].rows().write(tmp_path / "t.xls")
    months = Pipeline()
    months.table("t", {"m": "year_month_interval"})
    with months.transaction() as change:
        change.insert("t", [(1,)])
    with pytest.raises(UnsupportedError, match="Parquet does not hold these rows"):
        months["t"].rows().write(tmp_path / "t.parquet")
    (tmp_path / "none").write_text("a file")
    with pytest.raises(DelticError, match="none: "):
        pipeline["t"].rows().write(tmp_path / "none" / "t.json")
