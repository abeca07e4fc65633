"""The refresh policy of strata without recursion: what is recomputed, and that the changes are the same.

Catches an update that goes on though recomputing is cheaper, an abandoned one that leaves a trace, and a history that
is lost with the process.
"""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import pytest

import deltic
from deltic.engine import refreshed_step
from deltic.engine.operators import query
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.state import State
from tests.batches import slow

TABLES = "CREATE TABLE a (k INT, x INT); CREATE TABLE b (k INT, y INT)"
JOIN = "CREATE VIEW joined AS SELECT a.k, x, y FROM a, b WHERE a.k = b.k AND x + y > 3"
SUMS = "CREATE VIEW sums AS SELECT a.k, count(*) AS n, sum(y) AS total FROM a, b WHERE a.k = b.k GROUP BY a.k"
QUOTIENTS = "CREATE VIEW quotients AS SELECT x / y AS q FROM a, b WHERE a.k = b.k"
CHANGES = [
    {"a": ([(1, 1), (1, 2), (2, 3)], []), "b": ([(1, 4), (2, 5), (2, 5)], [])},
    {"a": ([(2, 9)], [(1, 2)]), "b": ([(1, 6)], [(2, 5)])},
    {"a": ([], [(2, 9)]), "b": ([(3, 1)], [])},
    {"b": ([], [(1, 4), (1, 6)])},
]
Change = dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]]


ENGINES = {"local": {}, "shards": {"engine": "spark", "shards": deltic.Shards(2)}}


def pipeline_of(refresh: str, switch: float = 0.2, state: Path | None = None, engine: str = "local") -> deltic.Pipeline:
    maintenance = deltic.Maintenance(refresh=refresh, switch=switch)  # type: ignore[arg-type]
    return deltic.Pipeline(maintenance=maintenance, state=state, **ENGINES[engine])  # type: ignore[arg-type]


def apply(pipeline: deltic.Pipeline, changes: Change) -> deltic.Change:
    with pipeline.transaction() as change:
        for table, (come, gone) in changes.items():
            change.insert(table, come)
            change.delete(table, gone)
    return change


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("refresh", "switch"), [("full", 0.2), ("auto", 0.0)])
def test_recomputed_joins_change_as_updated_ones_do(refresh, switch, engine):
    recomputed, updated = pipeline_of(refresh, switch, engine=engine), pipeline_of("incremental", engine=engine)
    for pipeline in (recomputed, updated):
        pipeline.sql(f"{TABLES}; {JOIN}; {SUMS}; {QUOTIENTS}")
    for changes in CHANGES:
        results = [apply(pipeline, changes) for pipeline in (recomputed, updated)]
        for view in ("joined", "sums", "quotients"):
            first, second = (sorted(map(repr, result.of(view))) for result in results)
            assert first == second, view
            assert sorted(map(repr, recomputed[view])) == sorted(map(repr, updated[view])), view
    done = {name for c in results[0].report.components for name in c.relations if c.action == "recompute"}
    assert "joined" in done
    assert not results[1].report.components


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("refresh", "switch"), [("full", 0.2), ("auto", 0.0)])
def test_an_epoch_that_a_recomputation_refuses_leaves_nothing(refresh, switch, engine):
    pipeline = pipeline_of(refresh, switch, engine=engine)
    pipeline.sql(f"{TABLES}; {JOIN}; {QUOTIENTS}")
    apply(pipeline, CHANGES[0])
    before = {view: sorted(pipeline[view]) for view in ("joined", "quotients")}
    with pytest.raises(deltic.DelticError, match="quotients"):
        apply(pipeline, {"b": ([(1, 0)], [])})
    assert {view: sorted(pipeline[view]) for view in before} == before
    apply(pipeline, {"b": ([(1, 7)], [])})
    assert (1, 1, 7) in list(pipeline["joined"])


def exchanged(pipeline: deltic.Pipeline, gone: range, come: range) -> list[str]:
    """Why `v` was recomputed when half of the rows of a product were exchanged: an update meets old and new ones."""
    rows = [(0, i) for i in come], [(0, i) for i in gone]
    return [c.reason for c in apply(pipeline, {"a": rows, "b": rows}).report.components if c.relations == ("v",)]


@pytest.mark.parametrize("engine", ["local", *slow(["shards"])])
def test_an_update_that_costs_more_is_abandoned_and_not_tried_the_next_time(tmp_path, monkeypatch, engine):
    monkeypatch.setattr(refreshed_step, "processor_time", partial(next, itertools.count()))
    with pipeline_of("auto", state=tmp_path, engine=engine) as pipeline:
        product = "a.k = b.k AND b.k = c.k AND x = b.y + c.y"
        pipeline.sql(f"{TABLES}; CREATE VIEW v AS SELECT x, b.y, a.k FROM a, b, b AS c WHERE {product}")
        apply(pipeline, {table: ([(0, i) for i in range(160)], []) for table in ("a", "b")})
        assert "abandoned after" in exchanged(pipeline, range(80), range(300, 380))[0]
        assert "expected to cost more" in exchanged(pipeline, range(300, 380), range(80))[0]
        told = str(pipeline.explain("v")).partition("what the refresh policy goes by:")[2]
        assert "v: 80 rows added to a are expected to cost" in told
    with pipeline_of("auto", state=tmp_path, engine=engine) as pipeline:
        assert "expected to cost more" in exchanged(pipeline, range(80), range(300, 380))[0]
        numbers = [*range(80, 160), *range(300, 380)]
        assert sorted(pipeline["v"]) == sorted((b + c, b, 0) for b in numbers for c in numbers if b + c in numbers)


def test_an_order_that_an_update_builds_is_no_cost_of_the_update(monkeypatch):
    """It is built once, and later updates need it: what is left of the first one is as little as without it."""

    def slowly(state: State, arrangement: Arrangement) -> None:
        clock.append(clock[-1] + 1.0)
        build(state, arrangement)

    build, clock = State.build, [0.0]
    for module in (refreshed_step, query):
        monkeypatch.setattr(module, "processor_time", lambda: clock[-1])
    pipeline = pipeline_of("auto")
    pipeline.sql(f"{TABLES}; CREATE VIEW v AS SELECT a.k, b.k AS other FROM a, b WHERE x = y AND a.k + b.k > 3")
    apply(pipeline, {"a": ([(i, i) for i in range(9)], []), "b": ([(i, i) for i in range(9)], [])})
    monkeypatch.setattr(State, "build", slowly)
    for table in ("a", "b"):
        assert not apply(pipeline, {table: ([(1, 7)], [])}).report.components
    assert len(clock) > 1
