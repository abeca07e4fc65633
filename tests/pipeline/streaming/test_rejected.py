"""Rows of a stream that do not fit, in a table of their own.

Catches a bad row that stops a stream that was to go on, a good one that is rejected with it, and a rejected row that is
lost, or there twice.
"""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from deltic import DelticError, Pipeline, Shards
from deltic.errors import DataError, Diagnostic
from deltic.pipeline.streaming.rejected import sorted_out
from tests.engine.executors.shards.jobs import only_jobs
from tests.pipeline.streaming.files import Folder

PROGRAM = """
    CREATE TABLE stock (item STRING NOT NULL, n INT NOT NULL);
    CREATE VIEW items AS SELECT item, sum(n) AS n FROM stock GROUP BY item
"""


@pytest.fixture(autouse=True)
def _jobs(monkeypatch):
    only_jobs(monkeypatch)


def of_kind(kind, spark, tmp_path):
    if kind == "local":
        pipeline = Pipeline(state=tmp_path / "state")
    else:
        shards = Shards(2, directory=tmp_path / "shards", executor="job")
        pipeline = Pipeline(spark, engine="spark", shards=shards)
    if "stock" not in pipeline:
        pipeline.sql(PROGRAM)
    return pipeline


def rejected(pipeline):
    return sorted((row, reason, json.loads(at), epoch) for row, reason, at, epoch in pipeline["stock_errors"])


@pytest.mark.parametrize("kind", ["local", "shards"])
def test_rows_that_do_not_fit(spark, tmp_path, kind):
    folder = Folder(tmp_path, "item string, n long")
    folder.put({"item": "a", "n": 1}, {"item": "b"}, {"item": "c", "n": 2})
    folder.put({"item": "a", "n": 3})
    folder.put({"item": "d", "n": 1 << 40}, {"n": 4})
    pipeline = of_kind(kind, spark, tmp_path)
    folder.drain(pipeline.stream(folder.frame(spark), into="stock", errors="table"))
    assert sorted(pipeline["items"]) == [("a", 4), ("c", 2)]
    told = rejected(pipeline)
    assert [(json.loads(row), at) for row, _, at, _ in told] == [
        ({"item": "b", "n": None}, {"batch": 0}),
        ({"item": "d", "n": 1 << 40}, {"batch": 2}),
        ({"item": None, "n": 4}, {"batch": 2}),
    ]
    assert all("column n" in reason for _, reason, _, _ in told[:2])
    assert "column item" in told[2][1]
    assert told[0][3] + 2 == told[1][3] == told[2][3] == pipeline.epoch
    pipeline.close()


def test_records_of_kafka_and_a_batch_that_comes_again(spark, tmp_path):
    folder = Folder(tmp_path, "value string, topic string, partition int, offset long")
    values = [
        '{"op": "+", "item": "a", "n": 1}',
        "no JSON",
        '{"op": "+", "item": "a"}',
        '{"op": "?", "item": "a", "n": 1}',
    ]
    folder.put(*({"value": value, "topic": "t", "partition": 0, "offset": n} for n, value in enumerate(values)))
    for _ in range(2):
        with of_kind("local", spark, tmp_path) as pipeline:
            folder.drain(pipeline.stream(folder.frame(spark), into="stock", errors="table"))
            assert sorted(pipeline["items"]) == [("a", 1)]
            parts = sorted((at["offset"], row) for row, _, at, _ in rejected(pipeline))
            assert parts == list(enumerate(values))[1:]
        folder.forget_commit(0)


def test_what_stops_all_the_same(spark, tmp_path):
    folder = Folder(tmp_path, "item string, n long")
    folder.put({"item": "b"})
    pipeline = of_kind("local", spark, tmp_path)
    with pytest.raises(StreamingQueryException, match="column n"):
        folder.drain(pipeline.stream(folder.frame(spark), into="stock"))
    with pytest.raises(DelticError, match="skip"):
        pipeline.stream(folder.frame(spark), into="stock", errors="skip")
    with pytest.raises(DataError, match="column n is missing"):
        pipeline.stream(folder.frame(spark).drop("n"), into="stock", errors="table")


@pytest.mark.parametrize("seed", range(20))
def test_each_row_is_read_once_or_rejected(seed):
    rng = random.Random(seed)
    values = [rng.choice((0, 1, 1, 1, 2)) for _ in range(rng.randrange(40))]

    def read(rows):
        if 0 in rows.column("x").to_pylist():
            raise DataError([Diagnostic("table t, row 1, column x: it is 0; the row is (0,)")])
        return rows

    rows = pa.table({"x": pa.array(values, pa.int64()), "at": pa.array(range(len(values)), pa.int64())})
    good, bad = sorted_out(rows, read, ["x"], {"offset": "at"})
    assert good.to_pylist() == [row for row in rows.to_pylist() if row["x"]]
    assert [row.position["offset"] for row in bad] == [n for n, x in enumerate(values) if not x]
    assert {row.reason for row in bad} <= {"column x: it is 0"}
