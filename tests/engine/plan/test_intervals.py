"""Comparisons with joined values: the reference interpreter's rows, found by ranges of an order.

What these tests catch: a bound that is off by one, rounded to the wrong side or lost where it has no place, NULL in a
range, intervals of changes of several rows that overlap or touch, weights of the wrong sign, a domain whose offsets are
not in the order of its values, and a search that visits rows that a moved threshold does not concern.
"""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from deltic import Pipeline
from deltic.engine.operators import query

SHORT = [None, *map(Decimal, ("-1.20", "0.00", "1.19", "1.20", "1.21"))]
WIDE = [None, *map(Decimal, ("1.0000", "0.9999", "-1.0000", "9" * 26))]
ENDS = [-(2**63), 2**63 - 1]
TABLES = (
    "CREATE TABLE a (k INT, v INT, w BIGINT, d DECIMAL(7, 2))",
    "CREATE TABLE b (k INT, x BIGINT, y BIGINT, e DECIMAL(30, 4))",
)
CONDITIONS = (
    "a.v > b.x",
    "a.w <= b.y",
    "a.w >= b.x AND a.w < b.y",
    "a.d > 1.2 * b.e",
    "b.e >= a.d AND b.x < a.d",
    "a.v < a.k AND a.v < b.x",
)
VIEWS = (
    *(f"SELECT a.v, a.d FROM a, b WHERE a.k = b.k AND {condition}" for condition in CONDITIONS),
    "SELECT a.v, b.x FROM a, b WHERE a.k = b.k AND a.w > b.x",
    "SELECT a.v FROM a, b WHERE a.w > b.x",
    "SELECT a.k FROM a, (SELECT k, avg(d) AS m FROM a GROUP BY k) g WHERE a.k = g.k AND a.d > 1.3 * g.m",
)


def test_views_of_comparisons_are_those_of_the_reference_interpreter(monkeypatch):
    monkeypatch.setattr(query, "_MANY", 0)
    rng = random.Random(1)
    pipelines = [Pipeline(), Pipeline(engine="reference")]
    for pipeline in pipelines:
        pipeline.sql(";".join([*TABLES, *(f"CREATE VIEW v{i} AS {view}" for i, view in enumerate(VIEWS))]))
    held: dict[str, list[tuple]] = {"a": [], "b": []}
    for epoch in range(9):
        change = {table: [_row(rng, table, epoch) for _ in range(rng.randrange(6))] for table in held}
        gone = {
            table: [rows.pop() for _ in range(rng.randrange(min(4, len(rows) + 1)))] for table, rows in held.items()
        }
        for pipeline in pipelines:
            with pipeline.transaction() as transaction:
                for table in held:
                    transaction.delete(table, gone[table])
                    transaction.insert(table, change[table])
        for table, rows in held.items():
            rows += change[table]
            rng.shuffle(rows)
        for i, view in enumerate(VIEWS):
            here, there = (_rows(pipeline, f"v{i}") for pipeline in pipelines)
            assert here == there, f"epoch {epoch}: {view}"


def _row(rng: random.Random, table: str, epoch: int) -> tuple:
    k, small = rng.choice([None, 1, 2]), [None, *range(-3, 4)]
    large = small + ENDS if epoch > 5 else small
    if table == "a":
        return (
            k,
            rng.choice(small),
            rng.choice(large),
            rng.choice(SHORT),
        )
    return (
        k,
        rng.choice(large),
        rng.choice(large),
        rng.choice(WIDE),
    )


def _rows(pipeline: Pipeline, view: str) -> list[str]:
    return sorted(map(str, pipeline[view].to_arrow().to_pylist()))


RULES = """
.decl a(k: number, v: number, z: number)
.input a
.decl b(k: number, x: number)
.input b
.decl r(z: number)
.output r
r(z) :- a(k, v, z), b(k, x), v > x.
"""


@pytest.mark.parametrize("recursive", [False, True])
def test_a_moved_threshold_visits_the_rows_between(recursive):
    pipeline = Pipeline()
    pipeline.datalog(RULES + "r(z) :- r(y), b(y, x), a(y, v, z), v > x.\n" * recursive)
    with pipeline.transaction() as transaction:
        transaction.insert("a", [(k, v, 10_000 * k + v) for k in range(3) for v in range(5_000)])
        transaction.insert("b", [(k, 4_900) for k in range(3)])
    with pipeline.transaction() as transaction:
        transaction.delete("b", [(1, 4_900)])
        transaction.insert("b", [(1, 4_880)])
    assert transaction.report.rows_visited < (1_000 if recursive else 60)
    assert len(pipeline["r"].to_arrow()) == 99 * 2 + 119
    assert "seek range" in pipeline.explain("r", full=True)


def test_a_comparison_with_what_the_column_itself_computes_is_no_range():
    pipeline = Pipeline()
    pipeline.datalog(
        """
        .decl t(a: number, b: number)
        .input t
        .decl d(a: number, b: number)
        .output d
        d(0, 1).
        d(x, w) :- min(y, z) = m, z > m, d(x, z), t(z, w), d(x, y).
        """
    )
    with pipeline.transaction() as transaction:
        transaction.insert("t", [(1, 3)])
    assert list(pipeline["d"]) == [(0, 1)]
