"""What `explain` says of a plan's work: expected from samples, and counted; both near each other on even data."""

from __future__ import annotations

import random

import pytest

from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.operators.beginning import work_of_a_row
from deltic.engine.operators.query import Evaluation
from tests.differential.compare import batches_of, changes_between

TABLES = ".decl a(x: number, y: number)\n.input a\n.decl b(x: number, y: number)\n.input b\n"
JOIN = ".decl v(x: number, z: number)\nv(x, z) :- a(x, y), b(y, z)."
TRIANGLE = ".decl v(x: number)\nv(x) :- a(x, y), b(y, z), a(x, z)."
CLOSURE = ".decl v(x: number, y: number)\nv(x, y) :- a(x, y).\nv(x, z) :- v(x, y), b(y, z)."


def even_rows(count: int, per_key: int, rng: random.Random) -> frozenset[tuple[int, int]]:
    """Each of `count` keys with as many values, which are keys too."""
    return frozenset((x, y) for x in range(count) for y in rng.sample(range(count), per_key))


def following(engine: IncrementalEngine, relation: str) -> list[Evaluation]:
    return [e for e in engine.executor.running.evaluations if e.query.delta.relation == relation]


@pytest.mark.parametrize(("view", "most"), [(JOIN, 2.5), (TRIANGLE, 6)])
def test_the_estimate_is_near_what_is_counted(view, most):
    """High where an intersection is smaller than each of its parts."""
    rng = random.Random(1)
    circuit = lower(check([parse(TABLES + view)]))
    engine = IncrementalEngine(circuit)
    old = {"a": even_rows(300, 8, rng), "b": even_rows(300, 5, rng)}
    engine.apply(batches_of(circuit, changes_between({}, old)))
    before = [(e.actual.visited, e.actual.derived) for e in following(engine, "a")]
    estimates = [work_of_a_row(e) for e in following(engine, "a")]
    rows = sorted(old["a"])[::10]
    engine.apply(batches_of(circuit, changes_between(old, {**old, "a": old["a"] - set(rows)})))
    for evaluation, (visited, derived), expected in zip(following(engine, "a"), before, estimates, strict=True):
        found = (evaluation.actual.visited - visited) / len(rows)
        assert 0.4 * found < expected[0] < most * found
        assert expected[1] >= 0.4 * (evaluation.actual.derived - derived) / len(rows)


def test_compiled_iterations_count_as_vectorised_ones_do():
    circuit = lower(check([parse(TABLES + CLOSURE)]))
    edges = frozenset((i, i + 1) for i in range(60))
    counts = []
    for most_waiting in (DEFAULTS.most_waiting, -1):
        engine = IncrementalEngine(circuit, thresholds=Thresholds(most_waiting=most_waiting))
        engine.apply(batches_of(circuit, changes_between({}, {"a": edges, "b": edges})))
        counts.append([(e.actual.changed, e.actual.derived) for e in engine.executor.running.evaluations])
    assert counts[0] == counts[1]
    assert (60 * 61 // 2, 59 * 60 // 2) in counts[0]


def test_explain_tells_both():
    circuit = lower(check([parse(TABLES + JOIN)]))
    engine = IncrementalEngine(circuit)
    assert "so far" not in engine.explain("v", full=True)
    engine.apply(batches_of(circuit, changes_between({}, {"a": {(1, 2)}, "b": {(2, 3), (2, 4)}})))
    explained = engine.explain("v", full=True)
    assert "so far, for 2 changed rows" in explained
    assert "2 derivations" in explained
