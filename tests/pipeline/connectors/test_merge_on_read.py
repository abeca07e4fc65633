"""Folders of rows and changes. Catches writes of unchanged rows, files that stay, and a merge by Spark that differs."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import deltic
from deltic import External
from deltic.pipeline.connectors.merge_on_read import MergeOnReadTarget
from deltic.pipeline.declarative import spark_query


def opened(folder, program):
    pipeline = deltic.Pipeline(state=folder / "state", program=program)
    pipeline.publish("v", External("merge_on_read", path=folder / "v"))
    return pipeline


def added(pipeline, rows, deleted=()):
    with pipeline.transaction() as change:
        change.insert("n", rows)
        change.delete("n", deleted)
    (told,) = pipeline.refresh().published.values()
    return told


def test_what_is_written_follows_the_change(tmp_path):
    program = "CREATE TABLE n (i BIGINT, t STRING); CREATE VIEW v AS SELECT i, count(*) AS n FROM n GROUP BY i"
    with opened(tmp_path, program) as pipeline:
        first = added(pipeline, [(i, "a") for i in range(10_000)])
        assert (first.how, first.rows, first.files) == ("all files written", 10_000, 1)
        told = [added(pipeline, [(i, "b")]) for i in (5, 77)]
        assert [(each.how, each.rows, each.files) for each in told] == [("changes", 2, 1), ("changes", 4, 1)]
        assert all(each.bytes < 2000 < 20_000 < first.bytes for each in told)
        assert added(pipeline, [], [(5, "b"), (77, "b")]).rows == 0
        assert added(pipeline, [(i, "b") for i in range(1000)]).how == "all files written"
        assert len(list((tmp_path / "v").glob("rows-*"))) == 2
        added(pipeline, [(1, "c")])
        assert len(list((tmp_path / "v").glob("rows-*"))) == 1


def test_a_damaged_file_of_changes(tmp_path):
    program = "CREATE TABLE n (i BIGINT); CREATE VIEW v AS SELECT i, count(*) AS n FROM n GROUP BY i"
    with opened(tmp_path, program) as pipeline:
        added(pipeline, [(i,) for i in range(100)])
        added(pipeline, [(1,)])
        (changes,) = (tmp_path / "v").glob("changes-*")
        changes.write_bytes(b"PAR1")
        assert added(pipeline, [(2,)]).how == "all files written"


def test_files_of_others(tmp_path):
    program = "CREATE TABLE n (i BIGINT); CREATE VIEW v AS SELECT i FROM n"
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "rows-1.parquet").write_text("of another program")
    with pytest.raises(deltic.DelticError, match="there is something else"):
        opened(tmp_path, program)


@pytest.mark.parametrize("kind", ["merge_on_read", "parquet"])
def test_types_that_parquet_lacks(tmp_path, kind):
    pipeline = deltic.Pipeline(program="CREATE TABLE n (i INTERVAL YEAR TO MONTH); CREATE VIEW v AS SELECT i FROM n")
    pipeline.publish("v", External(kind, path=tmp_path / "v"))
    with pytest.raises(deltic.UnsupportedError, match="Parquet lacks a type of the view"):
        pipeline.refresh()


def test_maps_are_written_whole(tmp_path):
    program = "CREATE TABLE n (i BIGINT); CREATE VIEW v AS SELECT i, map('a', i) AS m FROM n"
    with opened(tmp_path, program) as pipeline:
        added(pipeline, [(i,) for i in range(100)])
        assert added(pipeline, [(1,)]).how == "all files written"


@pytest.mark.spark
def test_spark_merges_rows_and_changes(spark, tmp_path):
    """A bag with NULL, NaN, texts with quotes in a column's name, and arrays."""
    program = "CREATE TABLE n (`a``b` STRING, x DOUBLE, ys ARRAY<INT>); CREATE VIEW v AS SELECT * FROM n"
    rng, target = random.Random(3), MergeOnReadTarget(External("merge_on_read", path=tmp_path / "v"))

    def row():
        return rng.choice(["p", "q", None]), rng.choice([0.5, float("nan"), None]), rng.choice([[1], [1, None], None])

    with opened(tmp_path, program) as pipeline:
        added(pipeline, [row() for _ in range(400)])
        for _ in range(3):
            held = list(pipeline["v"].to_arrow().to_pylist())
            gone = [tuple(each.values()) for each in rng.sample(held, 5)]
            assert added(pipeline, [row() for _ in range(5)], gone).how == "changes"
            found = spark.sql(spark_query(target, pipeline.views["v"].names)).collect()
            assert as_bag(found) == as_bag(tuple(each.values()) for each in pipeline["v"].to_arrow().to_pylist())


def as_bag(rows):
    return Counter(repr(tuple(row)) for row in rows)
