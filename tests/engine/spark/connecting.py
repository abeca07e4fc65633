"""What Deltic does with a session of Spark Connect, in a process of its own: `python -m … DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import deltic

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
    check_many(spark)
    with pytest.raises(deltic.DelticError, match="name one that they all see"):
        deltic.Pipeline(spark, engine="spark")


def check_streams(spark: SparkSession, pipeline: deltic.Pipeline, folder: Path) -> None:
    """A view as a stream, and as a batch; a stream into a table is refused."""
    changes = deltic.changes_stream(pipeline["reaches"])
    writer = changes.writeStream.format("memory").queryName("changes").option("checkpointLocation", folder / "query")
    writer.trigger(availableNow=True).start().awaitTermination()
    assert spark.table("changes").count() == len(ALL)
    reader = spark.read.format("deltic").option("view", "reaches")
    assert sorted(map(tuple, reader.load(str(folder / "state")).collect())) == ALL
    (folder / "in").mkdir()
    stream = spark.readStream.schema("who string, whom string").json(str(folder / "in"))
    with pytest.raises(deltic.StreamError, match="Spark Connect runs what is done with each batch"):
        pipeline.stream(stream, into="follows")


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
