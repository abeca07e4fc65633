"""Pipelines with engine="spark": the door to shards, without Spark and with it.

Catches a pipeline whose definitions, questions or state do not come through to the shards.
"""

from __future__ import annotations

import pytest

import deltic
from deltic import Shards
from deltic.pipeline.durable.status import status_of

FOLLOWS = """
    .decl follows(who: symbol, whom: symbol) .input follows
    .decl reaches(x: symbol, y: symbol)
    reaches(x, y) :- follows(x, y).
    reaches(x, z) :- reaches(x, y), follows(y, z).
"""
FANS = "CREATE MATERIALIZED VIEW fans AS SELECT whom, count(*) AS n FROM follows GROUP BY whom"
AB, BC, CA = ("ada", "bob"), ("bob", "cy"), ("cy", "ada")


def told(pipeline, name):
    return sorted(map(tuple, (row.values() for row in pipeline[name].to_arrow().to_pylist())))


def social(*args, **options):
    pipeline = deltic.Pipeline(*args, engine="spark", **options)
    pipeline.datalog(FOLLOWS)
    with pipeline.transaction() as change:
        change.insert("follows", [AB, BC])
    pipeline.sql(FANS)
    return pipeline


def check(pipeline):
    assert told(pipeline, "reaches") == [AB, ("ada", "cy"), BC]
    with pipeline.transaction() as change:
        change.insert("follows", [CA, ("dan", "bob")])
        change.delete("follows", [BC])
    assert told(pipeline, "fans") == [("ada", 1), ("bob", 2)]
    assert told(pipeline, "reaches") == [AB, CA, ("cy", "bob"), ("dan", "bob")]
    assert change.of("fans").to_arrow().num_rows == 4
    with pytest.raises(deltic.ChangeError, match="insert a row that is present"), pipeline.transaction() as refused:
        refused.insert("follows", [CA])
    assert pipeline.sql("SELECT count(*) AS n FROM reaches").to_arrow().to_pylist() == [{"n": 4}]
    assert pipeline["reaches"].lookup(x="cy").to_arrow().num_rows == 2
    assert "follows by who" in pipeline.explain("reaches") or "follows: by who" in pipeline.explain("reaches")


def test_a_pipeline_on_shards():
    check(social(shards=3))


def test_a_pipeline_on_shards_keeps_its_state(tmp_path):
    with social(shards=3, state=tmp_path) as pipeline:
        pipeline.checkpoint()
        with pipeline.transaction() as change:
            change.insert("follows", [CA])
        with pipeline.transaction() as change:
            change.delete("follows", [CA])
    with deltic.Pipeline(engine="spark", shards=3, state=tmp_path) as again:
        check(again)
    found = status_of(tmp_path)
    assert [(kept.name, kept.kind, kept.rows) for kept in found.relations if kept.kind != "hidden"] == [
        ("follows", "table", 3),
        ("fans", "view", 2),
        ("reaches", "view", 4),
    ]
    assert 0 < found.used_bytes <= found.run_bytes < found.file_bytes
    with pytest.raises(deltic.DelticError, match="shards=3, and is opened with shards=2"):
        deltic.Pipeline(engine="spark", shards=2, state=tmp_path)
    with pytest.raises(deltic.DelticError, match="it was written with engine='spark'"):
        deltic.Pipeline(state=tmp_path)


def test_a_state_of_one_process_is_no_state_of_shards(tmp_path):
    with deltic.Pipeline(state=tmp_path) as pipeline:
        pipeline.datalog(FOLLOWS)
        with pipeline.transaction() as change:
            change.insert("follows", [AB])
        pipeline.checkpoint()
    with pytest.raises(deltic.UnsupportedError, match='written by engine="local", and 8 shards cannot take it'):
        deltic.Pipeline(engine="spark", state=tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "spark", "shards": 0}, "1 or more"),
        ({"shards": 4}, "shards are those of engine"),
        ({"engine": "spark", "shards": Shards(executor="job")}, "needs a Spark session"),
    ],
)
def test_shards_that_cannot_be(options, message):
    with pytest.raises(deltic.DelticError, match=message):
        deltic.Pipeline(**options)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["job", "auto"])
def test_a_pipeline_in_spark_jobs(spark, executor):
    check(social(spark, shards=Shards(2, executor=executor)))
