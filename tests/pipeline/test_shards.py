"""Pipelines with engine="spark": the door to shards, without Spark and with it.

Catches a pipeline whose definitions, questions or state do not come through to the shards; an engine "auto" that costs
something where there is no choice; a state that only the engine that wrote it can read.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import deltic
from deltic import Shards
from deltic.engine.executors.inline.executor import InlineExecutor
from deltic.pipeline.durability.status import status_of
from deltic.pipeline.shards import slots, task_memory
from tests.conformance.test_evolution import WINDOW
from tests.engine.executors.shards.jobs import run_here

FOLLOWS = """
    .decl follows(who: symbol, whom: symbol) .input follows
    .decl reaches(x: symbol, y: symbol)
    reaches(x, y) :- follows(x, y).
    reaches(x, z) :- reaches(x, y), follows(y, z).
"""
DOUBLING = """
    CREATE TABLE edge (x BIGINT, y BIGINT);
    CREATE VIEW path AS WITH RECURSIVE path AS (
        SELECT x, y FROM edge UNION SELECT a.x, b.y FROM path AS a JOIN path AS b ON a.y = b.x
    ) SELECT x, y FROM path;
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


def test_a_pipeline_on_shards():
    pipeline = social(shards=3)
    check(pipeline)
    assert "follows by who" in pipeline.explain("reaches") or "follows: by who" in pipeline.explain("reaches")


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


OTHERS = [
    {},
    {"engine": "spark", "shards": 2},
    {"engine": "spark", "shards": 5},
    {"recursion": deltic.Recursion("nested")},
]


@pytest.mark.parametrize("other", OTHERS, ids=str)
@pytest.mark.parametrize("written", [{}, {"engine": "spark", "shards": 3}], ids=str)
def test_a_state_opens_under_every_engine(tmp_path, written, other):
    with deltic.Pipeline(state=tmp_path, **written) as pipeline:
        pipeline.datalog(FOLLOWS)
        with pipeline.transaction(positions={"log": 7}) as change:
            change.insert("follows", [AB, BC])
        pipeline.checkpoint()
        pipeline.sql(FANS)
    with deltic.Pipeline(state=tmp_path, **other) as again:
        assert (again.epoch, again.positions) == (2, {"log": 7})
        check(again)
    with deltic.Pipeline(state=tmp_path, **written) as back:
        assert back.epoch == 3


def test_rounds_are_asked_for_and_a_state_opens_with_and_without(tmp_path):
    program = FOLLOWS.replace("reaches(x, y), follows(y, z)", "reaches(x, y), reaches(y, z)")
    with deltic.Pipeline(engine="spark", shards=Shards(3, rounds="always"), state=tmp_path) as pipeline:
        pipeline.datalog(program)
        with pipeline.transaction() as change:
            change.insert("follows", [AB, BC])
        pipeline.sql(FANS)
        assert "reaches in rounds of exchanges: no key is handed on by all rules" in pipeline.explain("reaches")
        pipeline.checkpoint()
    ways = {
        "never": 'on one shard: no key is handed on by all rules, and rounds are never to be taken: rounds="never"',
        "auto": "on one shard: no key is handed on by all rules, and a task has room for it",
        "always": "in rounds of exchanges: no key is handed on by all rules",
    }
    for rounds, way in ways.items():
        with deltic.Pipeline(engine="spark", shards=Shards(3, rounds=rounds), state=tmp_path) as again:
            assert way in again.explain("reaches")
            assert told(again, "reaches") == [AB, ("ada", "cy"), BC]
            with again.transaction() as change:
                change.delete("follows", [BC])
            with again.transaction() as change:
                change.insert("follows", [BC])
            reasons = [component.reason for component in change.report.components]
            assert ("in 2 rounds over 3 shards" in reasons) == (rounds == "always")
            again.checkpoint()


def test_a_recursion_grows_out_of_what_a_task_is_to_hold():
    with deltic.Pipeline(engine="spark", shards=Shards(2, task_memory="4 kB")) as pipeline:
        pipeline.sql(DOUBLING)
        for last in (8, 40):
            with pipeline.transaction("normalize") as change:
                change.insert("edge", [(i, i + 1) for i in range(last)])
            assert change.report.components[0].way.startswith("in rounds" if last == 40 else "on one shard")
        assert len(pipeline["path"]) == 820
        assert "that a task is to hold" not in pipeline.explain("path")
        assert "in one task, which is to hold 4,000" in pipeline.explain("path")


def test_what_remembers_epochs_is_not_laid_out_in_another_way():
    with deltic.Pipeline(engine="spark", shards=Shards(2, task_memory=1)) as pipeline:
        pipeline.sql(DOUBLING)
        pipeline.table("seen", {"at": "int64", "who": "int64"})
        pipeline.view("recent", WINDOW)
        with pipeline.transaction() as change:
            change.insert("edge", [(1, 2), (2, 3)])
        message = (
            "on one shard: no key is handed on by all rules, and its way cannot change, since recent remembers epochs"
        )
        assert message in pipeline.explain("path")


def test_what_a_state_remembers_is_not_opened_elsewhere(tmp_path):
    with deltic.Pipeline(state=tmp_path) as pipeline:
        pipeline.table("seen", {"at": "int64", "who": "int64"})
        pipeline.view("recent", WINDOW)
        with pipeline.transaction() as change:
            change.insert("seen", [(9, 1)])
    with pytest.raises(deltic.UnsupportedError, match="cannot be moved to another engine: recent remembers epochs"):
        deltic.Pipeline(engine="spark", state=tmp_path)


class Session:
    """A session of Spark on this machine, which runs no job: `run_here` does."""

    createDataFrame = None
    sparkContext = SimpleNamespace(defaultParallelism=6)

    class conf:
        @staticmethod
        def get(name, default=None):
            return {"spark.master": "local[2]"}.get(name, default)


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr("deltic.engine.executors.spark.job.run_job", lambda spark, *asked, slots: run_here(*asked))
    return Session()


def test_auto_runs_locally_until_the_memory_is_full(session, tmp_path):
    rows = [(str(n), str(-n)) for n in range(1, 401)]
    with deltic.Pipeline(session, resources=deltic.Resources(memory=30_000), shards=2, state=tmp_path) as pipeline:
        pipeline.datalog(FOLLOWS)
        places = []
        for start in range(0, 400, 200):
            with pipeline.transaction() as change:
                change.insert("follows", rows[start : start + 200])
            places.append(change.report.placement.place)
        assert places == ["local", "files"]
        pipeline.checkpoint()
        with pipeline.transaction() as change:
            change.insert("follows", [AB])
        report = change.report
        assert report.placement.place == "process"
        assert "ran on shards in the driver's process" in str(report)
        assert set(report.placement.expected) == {"local", "process", "files"}
    with deltic.Pipeline(state=tmp_path, durability=deltic.Durability(readonly=True)) as reader:
        assert reader["reaches"].to_arrow().num_rows == 401
    with deltic.Pipeline(session, shards=2, state=tmp_path) as again:
        assert again._epochs.engine.executor.home == "shards"


def test_auto_without_a_session_is_the_local_engine_and_nothing_more():
    assert isinstance(deltic.Pipeline()._epochs.engine.executor, InlineExecutor)
    with pytest.raises(deltic.DelticError, match="name a directory with spill"):
        deltic.Pipeline(resources=deltic.Resources(memory="1 GiB"))


def test_a_cluster_without_a_directory_leaves_auto_local(session, monkeypatch):
    monkeypatch.setattr(Session.conf, "get", staticmethod(lambda name, default=None: "spark://there:7077"))
    pipeline = deltic.Pipeline(session)
    pipeline.datalog(FOLLOWS)
    assert isinstance(pipeline._epochs.engine.executor, InlineExecutor)
    assert "by the local engine, always: no directory is named" in pipeline.explain("reaches")
    with pytest.raises(deltic.DelticError, match="name one that they all see"):
        deltic.Pipeline(session, shards=4)


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"master": "local"}, 1),
        ({"master": "local[3]"}, 3),
        ({"master": "local[4,2]"}, 4),
        ({"master": "spark://there:7077", "cores.max": "12"}, 12),
        ({"master": "yarn", "executor.instances": "10", "executor.cores": "4"}, 40),
        ({"master": "yarn"}, 6),
    ],
    ids=str,
)
def test_how_many_tasks_run_at_once(settings, count, monkeypatch):
    fields = {f"spark.{name}": value for name, value in settings.items()}
    monkeypatch.setattr(Session.conf, "get", staticmethod(lambda name, default=None: fields.get(name, default)))
    assert slots(Session()) == count


@pytest.mark.parametrize(
    ("settings", "shards", "memory"),
    [
        ({"master": "local[4]"}, Shards(), 1 << 30),
        ({"master": "local[4]"}, Shards(task_memory="3 MiB"), 3 << 20),
        ({"master": "local[4]"}, Shards(executor="process"), None),
        ({"master": "spark://there:7077"}, Shards(), 1 << 29),
        ({"master": "yarn", "executor.memory": "8g", "executor.cores": "4"}, Shards(), 1 << 30),
        ({"master": "yarn", "executor.pyspark.memory": "512", "executor.memory": "8g"}, Shards(), 1 << 28),
    ],
    ids=str,
)
def test_what_a_task_is_to_hold(settings, shards, memory, monkeypatch):
    fields = {f"spark.{name}": value for name, value in settings.items()}
    monkeypatch.setattr(Session.conf, "get", staticmethod(lambda name, default=None: fields.get(name, default)))
    monkeypatch.setattr("deltic.pipeline.shards.available", lambda: 8 << 30)
    assert task_memory(shards, Session()) == memory


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "spark", "shards": 0}, "1 or more"),
        ({"shards": 4}, 'shards need engine "auto" with a Spark session'),
        ({"engine": "local", "shards": 4}, "shards need engine \"spark\", and engine is 'local'"),
        ({"engine": "spark", "shards": Shards(executor="job")}, "needs a Spark session"),
        ({"engine": "spark", "shards": {"task_memory": "much"}}, "task_memory is 'much'; it is a number of bytes"),
        ({"engine": "spark", "shards": {"task_memory": 0}}, "1 byte or more"),
        ({"engine": "spark", "shards": {"rounds": "often"}}, "there is no choice of rounds 'often'"),
        ({"engine": "spark", "shards": {"copies": "all"}}, "there is no choice of copies 'all'"),
    ],
)
def test_shards_that_cannot_be(options, message):
    given = options["shards"]
    with pytest.raises(deltic.DelticError, match=message):
        deltic.Pipeline(**options | {"shards": Shards(**given) if isinstance(given, dict) else given})


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["job", "auto"])
def test_a_pipeline_in_spark_jobs(spark, executor):
    check(social(spark, shards=Shards(2, executor=executor)))


def joined(view, column, shared):
    return (
        f"CREATE MATERIALIZED VIEW {view} AS "
        f"SELECT a.{column}, b.{column} AS also FROM seen a JOIN seen b USING ({shared})"
    )


@pytest.mark.parametrize("written", [True, False], ids=["from a checkpoint", "from the log"])
def test_definitions_that_change_keep_what_is_remembered_and_where_it_is(tmp_path, written):
    with deltic.Pipeline(engine="spark", shards=3, state=tmp_path) as pipeline:
        pipeline.table("seen", {"at": "int64", "who": "int64"})
        pipeline.view("recent", WINDOW)
        with pipeline.transaction() as change:
            change.insert("seen", [(1, 7), (10, 8)])
        with pipeline.transaction() as change:
            change.delete("seen", [(10, 8)])
        pipeline.sql(joined("pairs", "at", "who"))
        places = pipeline.explain("pairs")
        assert "the last change of definitions built pairs" in places
        pipeline.sql(joined("twins", "who", "at"))
        made = pipeline.sql(joined("others", "who", "at").replace("SELECT", "SELECT DISTINCT"))
        assert {"seen", "recent", "pairs", "twins"} <= set(made.report.extension.kept)
        if written:
            pipeline.checkpoint()
    with deltic.Pipeline(engine="spark", shards=3, state=tmp_path) as again:
        assert "\nseen: by who\n" in places
        assert "\nseen: by who\n" in again.explain("pairs")
        with again.transaction() as change:
            change.insert("seen", [(9, 5), (2, 5)])
        assert told(again, "recent") == [(9, 5)]
        assert told(again, "pairs") == [(1, 1), (2, 2), (2, 9), (9, 2), (9, 9)]
