"""What the heads of the storage's files say must hold, between the epochs of random programs of changes.

Catches a run with a zero weight or a row twice, an order that lacks rows of its relation, a version or a change that
outlives its epoch, an id that changes its value.
"""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

import deltic
from deltic.engine.storage.arrangement import present

PROGRAM = """
CREATE TABLE edge (x INT, y STRING, w DOUBLE);
CREATE TABLE name (y STRING PRIMARY KEY, x INT);
CREATE VIEW ways AS
    WITH RECURSIVE r AS (
        SELECT x, y FROM edge UNION SELECT r.x, e.y FROM r JOIN name n USING (y) JOIN edge e ON e.x = n.x)
    SELECT * FROM r;
CREATE VIEW total AS SELECT x, sum(w) AS w, max(y) AS y FROM edge GROUP BY x;
CREATE VIEW alone AS SELECT x FROM name WHERE NOT EXISTS (SELECT 1 FROM ways WHERE ways.x = name.x);
CREATE VIEW first AS SELECT * FROM edge ORDER BY w LIMIT 3
"""


def check_run(run, layout):
    words = [tuple(int(word) for word in row) for row in run.words.T]
    keys = [(*row, int(time)) for row, time in zip(words, run.times, strict=True)] if run.times.size else words
    assert all(one < other for one, other in pairwise(keys))
    assert (run.all_weights() != 0).all()
    assert len(run.words) == layout.words


def rows_of(state, arrangement):
    """The rows of positive weight, in the order of the declared columns, as offsets."""
    if not any(map(len, arrangement.runs)):
        return set()
    words, weights = present(arrangement.runs)
    columns = arrangement.sorted().columns(words)
    return {
        row
        for row, weight in zip(zip(*map(np.ndarray.tolist, columns), strict=True), weights, strict=True)
        if weight > 0
    }


def check_store(store):
    for name, arrangement in store.arrangements().items():
        for run in arrangement.runs:
            check_run(run, arrangement.layout)
        if arrangement.frozen is None:
            assert all(2 * len(new) <= len(old) for old, new in pairwise(arrangement.runs)), name
    for state in store.states.values():
        assert state.delta is None
        contents = rows_of(state, state.contents)
        for arrangement in state.built.values():
            assert arrangement.before == arrangement.runs
            assert rows_of(state, arrangement) == contents


@pytest.mark.parametrize("strategy", ["nested", "elastic", "full"])
def test_between_epochs(strategy):
    rng = random.Random(strategy)
    pipeline = deltic.Pipeline(recursion=deltic.Recursion(strategy=strategy))
    pipeline.sql(PROGRAM)
    store = pipeline._epochs.engine.executor.store
    edges: list[tuple[int, str, float]] = []
    ids: list[str] = []
    for epoch in range(12):
        with pipeline.what_if() as change:
            came = [
                (rng.randrange(8), f"n{rng.randrange(4 * epoch + 4)}", rng.random()) for _ in range(rng.randrange(30))
            ]
            went = rng.sample(edges, len(edges) // 4)
            change.insert("edge", came)
            change.delete("edge", went)
            change.upsert("name", [(f"n{rng.randrange(4 * epoch + 4)}", rng.randrange(8))])
            change.preview()
            if epoch % 3 != 2:
                change.commit()
                edges = [edge for edge in edges if edge not in went] + came
        check_store(store)
        texts = store.interner.text.between(0, len(store.interner.text)).to_pylist()
        assert texts[: len(ids)] == ids
        ids = texts
