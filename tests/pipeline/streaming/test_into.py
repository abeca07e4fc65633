"""Streaming DataFrames into tables, exactly once.

Catches a batch that is applied twice or not at all, rows that are taken for others, and an order of changes by key
that nothing vouches for.
"""

from __future__ import annotations

import json
import logging
import shutil
from decimal import Decimal

import pytest
from pyspark.errors import StreamingQueryException

import deltic
from deltic import DataError, DelticError, Pipeline, StreamError
from deltic.pipeline.streaming.forms import StreamForm
from tests.pipeline.streaming.files import Folder

FOLLOWS = "who string, whom string, op string"
PROGRAM = """
    CREATE TABLE follows (who STRING, whom STRING);
    CREATE VIEW fans AS SELECT whom, count(*) AS n FROM follows GROUP BY whom
"""


def follows(sign, *pairs):
    return [{"who": who, "whom": whom, "op": sign} for who, whom in pairs]


def pipeline_in(state):
    pipeline = Pipeline(state=state)
    if "follows" not in pipeline:
        pipeline.sql(PROGRAM)
    return pipeline


def test_values_of_a_stream_are_rounded(spark, tmp_path, caplog):
    caplog.set_level(logging.INFO, "deltic.stream")
    for number, (schema, rows) in enumerate(
        [
            ("id long, price double", [{"id": 1, "price": 0.125}]),
            ("value string", [{"value": json.dumps({"id": 1, "price": 0.125, "op": "+"})}]),
        ]
    ):
        pipeline, folder = Pipeline(), Folder(tmp_path / str(number), schema)
        pipeline.table("sale", {"id": "int64", "price": "decimal(6, 2)"})
        folder.put(*rows)
        folder.drain(pipeline.stream(folder.frame(spark), into="sale", coerce=True))
        assert list(pipeline["sale"]) == [(1, Decimal("0.13"))]
        assert "sale.price: 1 value rounded, such as 0.125 to 0.13" in caplog.messages[-1]


def test_a_batch_is_an_epoch_once(spark, tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "deltic.stream")
    found, form_of = [], StreamForm.of
    monkeypatch.setattr(StreamForm, "of", lambda *given: found.append(1) or form_of(*given))
    folder = Folder(tmp_path, FOLLOWS)
    folder.put(*follows("+", ("ada", "bob"), ("bob", "cyd")))
    folder.put(*follows("-", ("ada", "bob")), *follows("+", ("dan", "cyd")))
    with pipeline_in(tmp_path / "state") as pipeline:
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
        assert pipeline.epoch == 2
        assert sorted(pipeline["fans"]) == [("cyd", 2)]
        assert len(found) == 1, "Spark is asked for the columns of a stream once"
    folder.forget_commit(1)
    folder.put(*follows("+", ("eve", "bob")))
    with pipeline_in(tmp_path / "state") as pipeline:
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
        assert "batch 1 of stream follows was applied before, and is passed over" in caplog.messages
        assert pipeline.epoch == 3
        assert sorted(pipeline["fans"]) == [("bob", 1), ("cyd", 2)]
        assert pipeline.positions["stream follows"]["batch"] == 2


def test_columns_are_checked_before_a_query_starts(spark, tmp_path):
    folder = Folder(tmp_path, "who string, whon string")
    pipeline = Pipeline()
    pipeline.sql(PROGRAM)
    with pytest.raises(DataError, match=r"table follows, column whom is missing[^?]*whon"):
        pipeline.stream(folder.frame(spark), into="follows")
    with pytest.raises(DelticError, match="did you mean `follows`"):
        pipeline.stream(folder.frame(spark), into="follow")
    with pytest.raises(DelticError, match="it is a view"):
        pipeline.stream(folder.frame(spark), into="fans")
    pipeline.table("read", {"who": "string"}, source=deltic.External("csv", path=tmp_path))
    with pytest.raises(StreamError, match="table read has the rows of csv"):
        pipeline.stream(folder.frame(spark), into="read")
    with pytest.raises(StreamError, match="the DataFrame is no stream"):
        pipeline.stream(spark.range(2), into="follows")
    with pytest.raises(StreamError, match="expected a streaming DataFrame of Spark, found list"):
        pipeline.stream([("a", "b")], into="follows")
    rows = "struct<who: string, whon: string>"
    envelopes = Folder(tmp_path / "envelopes", f"op string, before {rows}, after {rows}, transaction void")
    with pytest.raises(DataError, match=r"column whom is missing in after\s+hint: did you mean"):
        pipeline.stream(envelopes.frame(spark), into="follows")
    good = spark.readStream.format("rate").load().selectExpr("'a' AS who", "'b' AS whom", "value")
    with pytest.raises(StreamError, match=r"order=.*valeu"):
        pipeline.stream(good, into="follows", order="valeu")
    writer = pipeline.stream(good, into="follows", order="value")
    with pytest.raises(StreamError, match="gives all rows again"):
        writer.outputMode("complete")
    with pytest.raises(StreamError, match="gives rows in place of others"):
        writer.outputMode("update")


def failure(folder, writer):
    """What Spark tells of a query that fails."""
    with pytest.raises(StreamingQueryException) as error:
        folder.drain(writer)
    return str(error.value)


@pytest.mark.slow
def test_a_batch_that_does_not_fit_stops_the_query_and_leaves_no_trace(spark, tmp_path):
    folder = Folder(tmp_path, FOLLOWS)
    folder.put(*follows("+", ("ada", "bob")))
    folder.put(*follows("+", ("bob", "cyd")), *follows("-", ("dan", "cyd")))
    with pipeline_in(tmp_path / "state") as pipeline:
        told = failure(folder, pipeline.stream(folder.frame(spark), into="follows"))
        assert "stream follows: batch 1 of query" in told
        assert "nothing of it was applied, and epoch 1 is the last" in told
        assert "table follows: the transaction would delete a row that is absent: ('dan', 'cyd')" in told
        assert sorted(pipeline["follows"]) == [("ada", "bob")]
        folder.drain(pipeline.stream(folder.frame(spark), into="follows", conflicts="normalize"))
        assert sorted(pipeline["follows"]) == [("ada", "bob"), ("bob", "cyd")]


@pytest.mark.slow
def test_rows_that_do_not_fit_are_named(spark, tmp_path):
    folder = Folder(tmp_path, "who string, whom string")
    folder.put({"who": "ada", "whom": None})
    pipeline = Pipeline()
    pipeline.table("follows", {"who": "string", "whom": "string"})
    told = failure(folder, pipeline.stream(folder.frame(spark), into="follows"))
    assert "table follows, row 1, column whom: expected a string, found null" in told
    assert not list(pipeline["follows"])


@pytest.mark.slow
def test_a_state_that_lost_its_batches_is_refused(spark, tmp_path):
    folder = Folder(tmp_path, FOLLOWS)
    folder.put(*follows("+", ("ada", "bob")))
    folder.put(*follows("+", ("bob", "cyd")))
    with pipeline_in(tmp_path / "state") as pipeline:
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
        folder.put(*follows("+", ("cyd", "dan")))
        again = Pipeline()
        again.sql(PROGRAM)
        told = failure(folder, again.stream(folder.frame(spark), into="follows"))
        assert "batch 2 of query" in told
        assert "comes first, and this pipeline, whose state is in memory, has none of the batches before it" in told
        assert not list(again["follows"])
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
        assert len(pipeline["follows"]) == 3


@pytest.mark.slow
def test_a_checkpoint_that_is_another_or_older_is_refused(spark, tmp_path):
    folder = Folder(tmp_path, FOLLOWS)
    folder.put(*follows("+", ("ada", "bob")))
    with pipeline_in(tmp_path / "state") as pipeline:
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
        backup = tmp_path / "backup"
        shutil.copytree(folder.checkpoint, backup)
        folder.put(*follows("+", ("bob", "cyd")))
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
        shutil.rmtree(folder.checkpoint)
        shutil.copytree(backup, folder.checkpoint)
        folder.put(*follows("+", ("cyd", "dan")))
        told = failure(folder, pipeline.stream(folder.frame(spark, files_per_batch=2), into="follows"))
        assert "comes again, with 2 rows other than the 1 that were applied" in told
        shutil.rmtree(folder.checkpoint)
        told = failure(folder, pipeline.stream(folder.frame(spark), into="follows"))
        assert "is of another query than the one whose batch 1" in told
        assert sorted(pipeline["follows"]) == [("ada", "bob"), ("bob", "cyd")]
        folder.drain(pipeline.stream(folder.frame(spark), into="follows", name="more"))
        assert len(pipeline["follows"]) == 5


STOCK = {"id": "int64", "name": "string?", "price": "decimal(8, 2)?"}
ROW = "struct<id: bigint, name: string, price: decimal(8, 2)>"


def envelope(op, lsn, before=None, after=None):
    return {"op": op, "before": before, "after": after, "source": {"lsn": lsn}}


def stock(id_, name, price="1.50"):
    return {"id": id_, "name": name, "price": price}


@pytest.mark.slow
def test_envelopes_by_key_need_an_order(spark, tmp_path):
    folder = Folder(tmp_path, f"op string, before {ROW}, after {ROW}, source struct<lsn: bigint>")
    folder.put(envelope("u", 3, None, stock(1, "late")), envelope("c", 1, None, stock(1, "early")))
    folder.put(envelope("u", 5, None, stock(2, "new")), envelope("d", 4, {"id": 1}, None))
    pipeline = Pipeline()
    pipeline.table("stock", STOCK, key="id")
    told = failure(folder, pipeline.stream(folder.frame(spark), into="stock"))
    assert "several changes are of the key id = 1, and a batch of Spark has no order" in told
    folder.start(pipeline.stream(folder.frame(spark), into="stock", order="source.lsn")).awaitTermination()
    assert sorted(pipeline["stock"]) == [(2, "new", Decimal("1.50"))]


@pytest.mark.slow
def test_records_of_kafka_are_taken_by_their_offsets(spark, tmp_path):
    """As Spark's source gives them; a broker is not asked."""
    schema = "key string, value string, topic string, partition int, offset bigint, timestamp timestamp"
    folder = Folder(tmp_path, schema)

    def record(offset, change):
        place = {"key": "k", "topic": "stock", "partition": 0, "offset": offset, "timestamp": "2026-03-01T12:00:00Z"}
        return {**place, "value": None if change is None else json.dumps(change)}

    changes = [
        envelope("c", 1, None, stock(1, "a")),
        envelope("u", 2, None, stock(1, "b")),
        envelope("d", 3, {"id": 1}, None),
        None,
        envelope("c", 4, None, stock(1, "c", "2.25")),
    ]
    folder.put(*(record(offset, change) for offset, change in reversed(list(enumerate(changes)))))
    folder.put(record(9, "no change"))
    pipeline = Pipeline()
    pipeline.table("stock", STOCK, key="id")
    binary = folder.frame(spark).selectExpr("* EXCEPT (value)", "CAST(value AS BINARY) AS value")
    told = failure(folder, pipeline.stream(binary, into="stock"))
    assert sorted(pipeline["stock"]) == [(1, "c", Decimal("2.25"))]
    assert "batch 1" in told


@pytest.mark.slow
def test_aggregates_of_spark_come_in_place_of_others(spark, tmp_path):
    from pyspark.sql.functions import count, lit

    folder = Folder(tmp_path, "shop string")
    folder.put({"shop": "a"}, {"shop": "b"})
    folder.put({"shop": "a"})
    pipeline = Pipeline()
    pipeline.table("sold", {"shop": "string", "n": "int64"}, key="shop")
    counted = folder.frame(spark).groupBy("shop").agg(count("*").alias("n")).withColumn("op", lit("u"))
    folder.drain(pipeline.stream(counted, into="sold").outputMode("update"))
    assert sorted(pipeline["sold"]) == [("a", 2), ("b", 1)]


@pytest.mark.slow
def test_feeds_of_delta_and_weights(spark, tmp_path):
    pipeline = Pipeline()
    pipeline.table("t", {"id": "int64"}, bag=True)
    feed = Folder(tmp_path / "feed", "id bigint, _change_type string, _commit_version bigint")
    feed.put({"id": 1, "_change_type": "insert", "_commit_version": 1})
    feed.put({"id": 1, "_change_type": "update_preimage"}, {"id": 2, "_change_type": "update_postimage"})
    feed.drain(pipeline.stream(feed.frame(spark), into="t", name="feed"))
    weights = Folder(tmp_path / "weights", "id bigint, __weight__ bigint")
    weights.put({"id": 3, "__weight__": 2}, {"id": 2, "__weight__": -1})
    weights.drain(pipeline.stream(weights.frame(spark), into="t", name="weights"))
    assert sorted(pipeline["t"]) == [(3,), (3,)]


@pytest.mark.slow
def test_jobs_of_a_batch_are_described(spark, tmp_path):
    folder = Folder(tmp_path, FOLLOWS)
    folder.put(*follows("+", ("ada", "bob")))
    with pipeline_in(tmp_path / "state") as pipeline:
        folder.drain(pipeline.stream(folder.frame(spark), into="follows"))
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    parts = [jobs.apply(i).description().getOrElse(None) for i in range(min(jobs.size(), 5))]
    assert "epoch 1: batch 0 of stream follows" in parts


@pytest.mark.slow
def test_late_rows_are_told(spark, tmp_path, caplog):
    folder = Folder(tmp_path, "page string, ts timestamp")
    folder.put({"page": "a", "ts": "2026-03-01T12:00:00Z"})
    folder.put({"page": "b", "ts": "2026-03-01T10:00:00Z"}, {"page": "c", "ts": "2026-03-01T12:30:00Z"})
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE visits (page STRING, ts TIMESTAMP LATENESS INTERVAL 1 HOUR)")
    folder.drain(pipeline.stream(folder.frame(spark), into="visits"))
    assert sorted(page for page, _ in pipeline["visits"]) == ["a", "c"]
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warned) == 1
    assert warned[0].startswith("epoch 2 left out 1 late row of visits")
