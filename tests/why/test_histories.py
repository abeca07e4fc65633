"""Recursions whose rows come and go: histories, and reasons that hold in the end before others.

This catches a premise that is gone by the end where another derivation has none, a row that stands on itself, and
iterations that are not those of the recursion as it is written, whatever the plan makes of it.
"""

from __future__ import annotations

import random

import pytest

from deltic import Maintenance, Pipeline
from deltic.circuit.graph import Circuit
from deltic.errors import IterationLimitError
from deltic.pipeline.options import Recursion
from deltic.why import Explanation, Note
from tests.engine.signed_bodies import Body
from tests.why.checker import Checker
from tests.why.test_random import check_all, contents


def holds() -> Circuit:
    """A normal logic program: h holds if p holds and n does not; 0 holds, 99 never does."""
    b = Body()
    fact, rule, there = b.table("fact", "h"), b.table("rule", "h", "p", "n"), b.feedback("holds", "h")
    met = b.without(b.join(rule, b.map(there, p="h")), b.map(there, n="h"))
    return b.circuit(holds=b.distinct(fact, b.map(met, h="h")))


def pipeline_of(rules: list[tuple[int, int, int]], **options) -> Pipeline:
    made = Pipeline(recursion=Recursion(iteration_limit=60), **options)
    made.table("fact", {"h": "int64"})
    made.table("rule", {"h": "int64", "p": "int64", "n": "int64"})
    made.view("holds", holds())
    with made.transaction() as change:
        change.insert("fact", [(0,)])
        change.insert("rule", rules)
    return made


def gone(explanation: Explanation) -> list[str]:
    """The premises that do not hold in the end."""
    steps = explanation.steps()
    return [str(p) for step in steps for p in step.premises if not isinstance(p, Note) and p.until is not None]


R, P, Q = 1, 2, 3
STABLE = [(R, P, 99), (R, R, 99), (P, 0, R)]
"""r ← p, r ← r, p ← ¬r: r is there since p was at iteration 1, when r was not."""


def test_where_only_a_premise_that_went_gives_a_reason_its_iterations_are_said():
    explanation = pipeline_of(STABLE).why("holds", (R,))
    assert gone(explanation) == ["no row of holds with h = 1 until iteration 2", "holds(2) @2–3, then gone"]
    (step,) = [step for step in explanation.to_dict()["steps"] if "until" in step]
    assert (step["at"], step["until"]) == (2, 3)


def test_a_reason_that_holds_in_the_end_comes_first_though_it_holds_later():
    chain = [(10, 0, 99), (11, 10, 99), (12, 11, 99), (R, 12, 99)]
    explanation = pipeline_of([*STABLE, *chain]).why("holds", (R,))
    assert gone(explanation) == []
    assert [step.row for step in explanation.steps() if step.relation == "holds"] == [(0,), (10,), (11,), (12,), (R,)]


def supported(rules: list[tuple[int, int, int]], end: set[int]) -> set[int]:
    """What follows when nothing but what holds in the end is taken, and its negations are those of the end."""
    result, before = {0}, set[int]()
    while result != before:
        before = result
        result = {0} | {h for h, p, n in rules if h in end and p in before and n not in end}
    return result


@pytest.mark.parametrize("batch", range(14))
def test_random_normal_programs(batch):
    """Each explanation is checked; it has no premise that went just where it needs none."""
    settled = 0
    for seed in range(batch * 50, batch * 50 + 50):
        rng = random.Random(seed)
        rules = {
            (rng.randrange(1, 8), rng.choice([0, *range(1, 8)]), rng.choice([99, *range(1, 8)])) for _ in range(11)
        }
        try:
            made = pipeline_of(sorted(rules))
            with made.transaction() as change:
                change.delete("rule", sorted(rules)[::4])
        except IterationLimitError:
            continue
        settled += 1
        checker = Checker(made.catalog, contents(made))
        end = {row.h for row in made["holds"]}
        without = supported(sorted(rules - set(sorted(rules)[::4])), end)
        for h in sorted(end):
            explanation = made.why("holds", (h,))
            checker.check(explanation)
            assert (gone(explanation) == []) == (h in without), f"seed {seed}: {explanation}"
    assert settled > 10


NUMBERS = """
CREATE TABLE e (a BIGINT NOT NULL, b BIGINT NOT NULL, w BIGINT NOT NULL);
CREATE VIEW least AS WITH RECURSIVE r (a, n) AS
  (SELECT 0, 0 UNION SELECT e.b, min(r.n + e.w) FROM r JOIN e ON r.a = e.a GROUP BY e.b) SELECT a, n FROM r;
CREATE VIEW reached AS WITH RECURSIVE s (a) AS (SELECT 0 UNION SELECT e.b FROM s JOIN e ON s.a = e.a)
  SELECT a FROM s WHERE a > 0;
DECLARE RECURSIVE VIEW height (a BIGINT NOT NULL, n BIGINT NOT NULL);
CREATE VIEW height AS
  SELECT b AS a, 0 AS n FROM e WHERE b NOT IN (SELECT a FROM e) UNION
  SELECT a, max(n) + 1 AS n FROM (SELECT e.a, h.n FROM e JOIN height AS h ON h.a = e.b) GROUP BY a;
"""


@pytest.mark.parametrize("options", [{}, {"engine": "spark", "shards": 3}, {"engine": "reference"}], ids=str)
def test_aggregates_in_recursions_on_each_engine(options):
    """The plan lets least values in by their own order, and has relations of its own: neither is to be seen."""
    rng = random.Random(5)
    made = Pipeline(maintenance=Maintenance(), **options)
    made.sql(NUMBERS)
    edges = [(a, b, rng.randrange(1, 9)) for a in range(7) for b in range(a + 1, 7) if rng.random() < 0.8]
    with made.transaction() as change:
        change.insert("e", edges)
    assert check_all(made) > 15
    with made.transaction() as change:
        change.delete("e", edges[::3])
    assert check_all(made) > 8
