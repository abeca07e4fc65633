"""What Deltic does with a session of Spark Connect, in a process of its own: `python -m … DIRECTORY`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import deltic
from deltic.engine.executors.shards.staged_rows import StagedRows
from deltic.engine.executors.spark import costs
from deltic.pipeline.connectors import tasks
from tests.pipeline import test_dataframe_views as frame_views

FOLLOWS = """
    .decl follows(who: symbol, whom: symbol) .input follows
    .decl reaches(x: symbol, y: symbol)
    reaches(x, y) :- follows(x, y).
    reaches(x, z) :- reaches(x, y), follows(y, z).
"""
MANY = 20_000
ALL = [(x, y) for x, y in zip("aaabbc", "bcdcdd", strict=True)]


def check(spark: SparkSession, folder: Path) -> None:
    """Epochs as jobs, DataFrames both ways, the data source, streams; and what is refused."""
    costs.FEW = -1  # small epochs are jobs, too
    shards = deltic.Shards(2, folder / "shards", "job")
    with deltic.Pipeline(spark, engine="spark", shards=shards, state=folder / "state") as pipeline:
        pipeline.datalog(FOLLOWS)
        with pipeline.transaction() as change:
            change.insert("follows", [("a", "b"), ("b", "c")])
        with pipeline.transaction() as change:
            change.insert("follows", spark.createDataFrame([("c", "d")], "who string, whom string"))
        assert change.report.placement.place == "job"
        assert sorted(pipeline["reaches"]) == ALL
        assert sorted(map(tuple, pipeline["reaches"].to_spark().collect())) == ALL
        check_streams(spark, pipeline, folder)
    check_keys(deltic.Pipeline(spark, engine="local"), spark)
    check_keys(deltic.Pipeline(spark, engine="spark", shards=deltic.Shards(2, folder / "shards", "job")), spark)
    check_views(spark)
    check_posting(spark, folder)
    check_many(spark)
    with pytest.raises(deltic.DelticError, match="name one that they all see"):
        deltic.Pipeline(spark, engine="spark")


def check_keys(pipeline: deltic.Pipeline, spark: SparkSession) -> None:
    """Changes by key, and DataFrames of views, of changes and of answers."""
    pipeline.sql("""
        CREATE TABLE stock (id BIGINT PRIMARY KEY, name STRING, n BIGINT);
        CREATE VIEW names AS SELECT name, sum(n) AS n FROM stock GROUP BY name
    """)
    columns = "id long, name string, n long"
    with pipeline.transaction() as change:
        change.insert("stock", spark.createDataFrame([(1, "a", 1), (2, "b", 2), (3, "a", 3)], columns))
    with pipeline.transaction() as change:
        change.delete("stock", spark.createDataFrame([(1,)], "id long"))
    assert sorted(pipeline["names"]) == [("a", 3), ("b", 2)]
    with pipeline.transaction() as change:
        change.upsert("stock", spark.createDataFrame([(2, "b", 7)], columns))
        change.update("stock", spark.createDataFrame([(3, 4)], "id long, n long"))
    assert sorted(map(tuple, pipeline["names"].to_spark().collect())) == [("a", 4), ("b", 7)]
    assert change.of("names").to_spark().count() == 4
    with pipeline.transaction() as change:
        change.change("stock", spark.createDataFrame([(3, "a", 4, "-")], f"{columns}, op string"))
    assert [tuple(row) for row in pipeline.query("SELECT n FROM names").to_spark().collect()] == [(7,)]
    pipeline.table("frame", spark.createDataFrame([(1, "x")], "a int, b string"))
    assert list(pipeline["frame"]) == [(1, "x")]


def check_views(spark: SparkSession) -> None:
    """Views by DataFrames hold what Spark computes, with its names and types; what is not supported is named."""
    pipeline = frame_views.tables(spark)
    for name, case in frame_views.CASES.items():
        frame = case(*frame_views.frames(pipeline))
        pipeline.view("v", frame, replace="v" in pipeline)
        kept = pipeline["v"].to_spark()
        assert frame_views.rows(kept) == frame_views.rows(frame), name
        assert kept.dtypes == frame.dtypes, name
    frame_views.fill(pipeline, [(6, "ada", None, None, "c")], [])
    assert frame_views.rows(pipeline["v"].to_spark()) == frame_views.rows(case(*frame_views.frames(pipeline)))
    for case, message in frame_views.REFUSED.values():
        if message is not None:
            with pytest.raises(deltic.DelticError, match=re.escape(message)):
                pipeline.view("w", case(*frame_views.frames(pipeline)))


def check_posting(spark: SparkSession, folder: Path) -> None:
    """Rows of a DataFrame and of a folder of files are written by tasks, and kept by the log."""
    (folder / "files").mkdir()
    for part in range(2):
        pq.write_table(pa.table({"id": range(part * MANY, part * MANY + MANY)}), folder / f"files/{part}.parquet")
    tasks.FEW = -1
    shards = deltic.Shards(2, folder / "shards", "job")
    pipeline = deltic.Pipeline(spark, engine="spark", shards=shards, state=folder / "posted")
    pipeline.table("files", source=folder / "files")
    pipeline.table("frame", {"id": "int64"})
    pipeline.sql("CREATE VIEW both AS SELECT count(*) AS n FROM files JOIN frame USING (id)")
    with pipeline.transaction() as change:
        change.insert("frame", spark.range(1000, 3 * MANY))
        given = change.operations[-1].rows
    assert isinstance(given, StagedRows)
    assert all(message.file for message in given.messages)
    assert change.report.bytes_written > given.report.written > 8 * MANY
    assert pipeline.refresh().sources["files"].how == "2 files read by tasks, 0 taken back"
    (folder / "files/0.parquet").unlink()
    told = pipeline.refresh().sources["files"]
    assert (told.how, told.deleted) == ("no files read by tasks, 1 taken back", MANY)
    assert len(pipeline._keeping.files.names("rows")) >= 3
    follower = deltic.Pipeline(state=folder / "posted", durability=deltic.Durability(readonly=True))
    assert list(pipeline["both"]) == list(follower["both"]) == [(MANY,)]
    pipeline.close()


def check_streams(spark: SparkSession, pipeline: deltic.Pipeline, folder: Path) -> None:
    """A view as a stream, and as a batch; a stream into a table, which stops at a batch that is refused."""
    changes = deltic.changes_stream(pipeline["reaches"])
    writer = changes.writeStream.format("memory").queryName("changes").option("checkpointLocation", folder / "query")
    writer.trigger(availableNow=True).start().awaitTermination()
    assert spark.table("changes").count() == len(ALL)
    reader = spark.read.format("deltic").option("view", "reaches")
    assert sorted(map(tuple, reader.load(str(folder / "state")).collect())) == ALL
    (folder / "in").mkdir()
    stream = spark.readStream.schema("who string, whom string, op string").json(str(folder / "in"))
    with pytest.raises(deltic.StreamError, match="need a folder that both see"):
        pipeline.stream(stream, into="follows").start()

    def start(checkpoint: str, **trigger: Any) -> Any:
        writer = pipeline.stream(stream, into="follows").option("checkpointLocation", str(folder / checkpoint))
        return writer.trigger(**trigger).start()

    def put(name: str, who: str, whom: str, op: str) -> None:
        (folder / name).write_text(json.dumps({"who": who, "whom": whom, "op": op}))
        (folder / name).rename(folder / "in" / name)

    put("1.json", "d", "e", "+")
    start("into", availableNow=True).awaitTermination()
    assert ("a", "e") in set(pipeline["reaches"])
    query = start("into", processingTime="0 seconds")
    put("2.json", "a", "b", "-")
    query.processAllAvailable()
    assert ("a", "e") not in set(pipeline["reaches"])
    assert query.isActive
    put("3.json", "a", "b", "-")
    with pytest.raises(deltic.StreamError, match=r"batch 2 of query .* was refused"):
        query.awaitTermination(300)
    assert not query.isActive
    with pytest.raises(deltic.StreamError, match="is of another query than the one whose batch 1"):
        start("other", availableNow=True).awaitTermination()
    with pipeline.transaction() as change:
        change.insert("follows", [("a", "b")])
    start("into", availableNow=True).awaitTermination()
    assert sorted(pipeline["follows"]) == [("b", "c"), ("c", "d"), ("d", "e")]
    assert not list((folder / "into/deltic-batches").glob("*.parquet"))


def check_many(spark: SparkSession) -> None:
    """A table that is too large for a plan, with types that travel as others."""
    pipeline = deltic.Pipeline(spark)
    pipeline.sql("CREATE TABLE t (a INT, b STRING, i INTERVAL YEAR TO MONTH, d DECIMAL(10, 2))")
    with pipeline.transaction() as change:
        change.insert("t", [{"a": n, "b": "x" * 20, "i": n % 7, "d": None} for n in range(MANY)])
    assert pipeline["t"].to_spark().count() == MANY


if __name__ == "__main__":
    session = SparkSession.builder.remote("local[2]").getOrCreate()
    check(session, Path(sys.argv[1]))
    session.stop()
