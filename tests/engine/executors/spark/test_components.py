"""Components of one program: an epoch that changes one of them leaves the rows of the others where they are, unread.

Catches a process that opens what it does not need, a job that writes anew what a small epoch has left as it was, and a
state that goes back and forth between memory and files with the executor.
"""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pytest

import deltic
from deltic.engine.executors.shards.files import read_description
from deltic.engine.files.contents import contents_of
from deltic.engine.storage.run import KeptRun
from tests.engine.executors.shards.jobs import run_here
from tests.pipeline.test_shards import Session

ROWS = 40_000
SQL = """
    CREATE TABLE sale (id BIGINT PRIMARY KEY, shop BIGINT, price BIGINT);
    CREATE TABLE shop (shop BIGINT PRIMARY KEY, land BIGINT);
    CREATE VIEW takings AS SELECT land, sum(price) AS price FROM sale JOIN shop USING (shop) GROUP BY land;
    CREATE TABLE visit (who TEXTS, page BIGINT);
    CREATE VIEW visits AS SELECT who, count(*) AS n FROM visit GROUP BY who
"""
BIG, SMALL = {"sale", "shop", "takings"}, {"visit", "visits"}


@pytest.fixture
def pipeline(monkeypatch, request):
    monkeypatch.setattr("deltic.engine.executors.spark.job.run_job", lambda spark, *asked, slots: run_here(*asked))
    with deltic.Pipeline(Session(), engine="spark", shards=2, resources=deltic.Resources(memory="50 KB")) as pipeline:
        pipeline.sql(SQL.replace("TEXTS", "STRING"))
        load(pipeline, 0, ROWS)
        yield pipeline


def load(pipeline, start, end):
    """Sales, so many that they are more than the driver is to hold; the report."""
    numbers = range(start, end)
    sales = pa.table({"id": numbers, "shop": [n % 50 for n in numbers], "price": [n % 97 for n in numbers]})
    with pipeline.transaction() as change:
        if not start:
            change.insert("shop", [(n, n % 7) for n in range(50)])
        change.insert("sale", sales)
    return change.report


def visit(pipeline, *rows):
    with pipeline.transaction() as change:
        change.insert("visit", list(rows))
    return change.report


def engine_of(pipeline):
    return pipeline._epochs.engine.executor.there


def component(pipeline, relation):
    """The tables and views of a relation's component by which name it is kept."""
    return "big" if any(name in relation for name in ("sale", "shop", "takings")) else "small"


def places(pipeline):
    """Where the rows of each component stand in files."""
    engine, found = engine_of(pipeline), defaultdict(set)
    for number, name in engine.holder.states.items():
        for place, about in contents_of(read_description(engine.holder.files, name)["contents"]).pieces:
            found[component(pipeline, about["relation"])].add((number, place))
    return found


def runs(pipeline, which):
    """The runs of a component in the driver: which are in its memory, and which of those in files it has read."""
    arrangements = [item for shard in engine_of(pipeline).holder._open for item in shard.store.arrangements().items()]
    mine = [run for name, a in arrangements if component(pipeline, name.relation) == which for run in a.runs]
    kept = [run for run in mine if isinstance(run, KeptRun)]
    return len(mine) - len(kept), sum(run._is_read for run in kept)


def test_a_component_is_changed_in_process_while_another_is_in_files(pipeline):
    before = places(pipeline)
    assert before.keys() == {"big"}
    told = visit(pipeline, ("ada", 1), ("bob", 2))
    assert told.placement.place == "process"
    assert runs(pipeline, "big") == (0, 0)
    told = load(pipeline, ROWS, ROWS + ROWS // 4)
    assert told.placement.place == "job"
    assert "the driver is to hold 50,000 bytes, and on shards in the driver's process it would hold" in str(told)
    after = places(pipeline)
    assert before["big"] & after["big"], "the job adds to what is there"
    assert engine_of(pipeline).resident == 0
    for number in range(3):
        assert visit(pipeline, ("ada", 10 + number)).placement.place == "process"
        assert runs(pipeline, "big") == (0, 0)
    engine = engine_of(pipeline)
    written = engine.holder.files.traffic.written
    engine.holder.write()
    assert engine.holder.files.traffic.written - written < 30_000, (
        "it is what the small component has, not the large one"
    )
    assert places(pipeline)["big"] == after["big"]


def test_a_job_leaves_what_another_component_has(pipeline):
    visit(pipeline, *((f"user {n % 500}", n) for n in range(2000)))
    load(pipeline, ROWS, ROWS + ROWS // 4)
    before = places(pipeline)
    load(pipeline, 2 * ROWS, 2 * ROWS + ROWS // 4)
    assert places(pipeline)["small"] == before["small"]
    assert sorted(pipeline["takings"]) == sorted(
        pipeline.query("SELECT land, sum(price) AS price FROM sale JOIN shop USING (shop) GROUP BY land")
    )
