"""What storage promises between epochs, as the heads of `run`, `arrangement` and `state` say it.

Catches: an epoch, committed or abandoned, that leaves a run out of order, a change that is not ended, runs that are not
merged, or orders of a relation that hold other rows than its contents.
"""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

import deltic
from deltic.engine.storage.arrangement import Arrangement, present
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store

SQL = """
CREATE TABLE e (x INT, y INT);
CREATE TABLE k (id INT PRIMARY KEY, v STRING);
CREATE VIEW j AS SELECT a.x, b.y FROM e a JOIN e b ON a.y = b.x LEFT JOIN k ON k.id = b.y;
CREATE VIEW g AS SELECT x, count(*) AS n, sum(y) AS s, min(y) AS m FROM e GROUP BY x;
CREATE VIEW t AS SELECT * FROM e ORDER BY y DESC LIMIT 3;
CREATE VIEW d AS SELECT DISTINCT x FROM e WHERE NOT EXISTS (SELECT 1 FROM k WHERE k.id = e.x);
CREATE VIEW w AS SELECT x, y, rank() OVER (PARTITION BY x ORDER BY y) AS rk FROM e;
CREATE VIEW r AS
    WITH RECURSIVE r AS (SELECT x, y FROM e UNION SELECT r.x, e.y FROM r JOIN e ON r.y = e.x) SELECT * FROM r;
"""
DATALOG = """
.decl step(x: number, y: number)
.decl far(x: number, n: number)
.input step
far(0, 0) :- step(0, _).
far(y, n) :- step(_, y), n = min m : { m = l + 1, far(x, l), step(x, y) }.
"""


class Abandoned(Exception):
    """Ends a transaction without a commit."""


@pytest.mark.parametrize("strategy", ["nested", "elastic", "full"])
@pytest.mark.parametrize("conflicts", ["normalize", "trust"])
def test_between_epochs(strategy, conflicts) -> None:
    draw = random.Random(f"{strategy} {conflicts}")
    pipeline = deltic.Pipeline(
        engine="local",
        recursion=deltic.Recursion(strategy),
        transactions=deltic.Transactions(conflicts=conflicts),
    )
    pipeline.sql(SQL)
    pipeline.datalog(DATALOG)
    for _ in range(12):
        try:
            with pipeline.transaction() as change:
                for _ in range(draw.randrange(1, 8)):
                    _change(change, "e", (draw.randrange(8), draw.randrange(8)), draw)
                    _change(change, "step", (draw.randrange(6), draw.randrange(6)), draw)
                    _change(change, "k", (draw.randrange(8), f"v{draw.randrange(900)}"), draw)
                if draw.random() < 0.2:
                    raise Abandoned
        except (Abandoned, deltic.ChangeError):  # two rows of one key
            pass
        store = pipeline._epochs.engine.executor.running.store
        store.fit()
        _check(store)


def _change(change, table, row, draw) -> None:
    (change.insert if draw.random() < 0.6 else change.delete)(table, [row])


def _check(store: Store) -> None:
    for state in store.states.values():
        assert state.delta is None
        assert not state.is_appended
        for arrangement in state.arrangements():
            _check_arrangement(arrangement)
        for arrangement in state.by_order.values():
            assert arrangement.before == arrangement.runs
            assert arrangement.is_built or arrangement.runs == ()
        _check_orders(state)


def _check_arrangement(arrangement: Arrangement) -> None:
    assert not arrangement.is_stale()
    sizes = [len(run) for run in arrangement.runs]
    assert all(size >= 2 * following for size, following in pairwise(sizes))
    for run in arrangement.runs:
        _check_run(run)


def _check_run(run: Run) -> None:
    keys = list(zip(*run.words.tolist(), run.times.tolist() or [0] * len(run), strict=True))
    assert keys
    assert all(key < following for key, following in pairwise(keys))
    assert run.weights.size in (0, len(run))
    assert np.all(run.weights != 0)


def _check_orders(state: State) -> None:
    """Every order that is built has the rows of the contents that have a positive weight."""
    expected = {row: weight for row, weight in _rows(state.contents).items() if weight > 0}
    if state.kind is RelationKind.SET:
        expected = dict.fromkeys(expected, 1)
    for arrangement in state.built.values():
        assert {row: weight for row, weight in _rows(arrangement).items() if weight > 0} == expected


def _rows(arrangement: Arrangement) -> dict[tuple[int, ...], int]:
    if not arrangement.runs:
        return {}
    words, weights = present(arrangement.runs)
    columns = [column.tolist() for column in arrangement.sorted().columns(words)]
    return dict(zip(zip(*columns, strict=True), weights.tolist(), strict=True))
