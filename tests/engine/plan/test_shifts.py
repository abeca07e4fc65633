"""Joins on a column and another with a constant added: the reference interpreter's rows, found by look-ups.

What these tests catch: a constant added on the wrong side, a sum that meets NULL, a sum that is NULL where NULL equals
NULL, a row whose sum does not fit into its type and that is no error any more, and a join that visits all rows with the
other keys.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltic import Pipeline
from deltic.errors import EvaluationError

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, g INT NOT NULL, n INT NOT NULL, w BIGINT, s SMALLINT)"
JOINS = [
    "SELECT a.id AS x, b.id AS y FROM t a, t b WHERE a.g = b.g AND a.n = b.n + 1",
    "SELECT a.id AS x, b.id AS y FROM t a, t b WHERE a.g = b.g AND a.w = b.w - 52",
    "SELECT a.id AS x, b.id AS y FROM t a, t b WHERE a.g = b.g AND 3 + 1 + a.w = b.w",
]
OF_SEVERAL = [
    "SELECT a.id AS x, b.id AS y, c.id AS z FROM t a, t b, t c WHERE a.g = b.g AND a.n = b.n + 1 AND a.n = c.n - 1",
    "SELECT a.id AS x, b.id AS y FROM t a JOIN t b ON a.g = b.g AND a.n = b.n + 1 AND b.s = a.s + 1",
    "SELECT a.id AS x, b.id AS y FROM t a, t b WHERE a.g = b.g AND a.s = b.n - 2 + 1",
    "SELECT a.id AS x, b.id AS y FROM t a JOIN t b ON a.w = b.n + 2",
    "SELECT id AS x, g AS y FROM t WHERE n = w + 1",
    "SELECT q.id AS x, y IS NULL AS y FROM (SELECT id, w + 1 AS z FROM t) q, LATERAL (SELECT z + 1 AS y)",
]
SMALL = st.integers(-3, 3)
SMALL_ROWS = st.tuples(SMALL.map(abs), SMALL, st.none() | SMALL, st.none() | SMALL)
ROWS = st.tuples(
    SMALL.map(abs),
    SMALL | st.sampled_from([-(2**31), 2**31 - 1]),
    st.none() | SMALL | st.sampled_from([52, 53, -(2**63), 2**63 - 1]),
    st.none() | SMALL | st.sampled_from([-(2**15), 2**15 - 1]),
)


def epochs_of(rows: st.SearchStrategy[tuple]) -> st.SearchStrategy[list[dict[int, tuple | None]]]:
    """Changes of rows by their ids."""
    return st.lists(st.dictionaries(st.integers(0, 5), st.none() | rows, max_size=4), min_size=1, max_size=4)


def outcome(pipeline: Pipeline, held: dict[int, tuple], change: dict[int, tuple | None]) -> list[tuple] | str:
    """The view after a change, or that the change was refused."""
    try:
        with pipeline.transaction() as transaction:
            transaction.delete("t", [(i, *held[i]) for i in change if i in held])
            transaction.insert("t", [(i, *row) for i, row in change.items() if row is not None])
    except EvaluationError:
        return "refused"
    return sorted(tuple(row.values()) for row in pipeline["v"].to_arrow().to_pylist())


@pytest.mark.parametrize("join", JOINS)
@given(epochs=epochs_of(ROWS))
@settings(max_examples=30)
def test_joins_on_a_sum_that_may_not_fit(join, epochs):
    check(join, epochs)


@pytest.mark.parametrize("join", OF_SEVERAL)
@given(epochs=epochs_of(SMALL_ROWS))
@settings(max_examples=30)
def test_joins_on_sums(join, epochs):
    check(join, epochs)


def check(join: str, epochs: list[dict[int, tuple | None]]) -> None:
    """Compare a view with that of the reference interpreter, epoch by epoch."""
    pipelines = [Pipeline(), Pipeline(engine="reference")]
    for pipeline in pipelines:
        pipeline.sql(TABLE)
        pipeline.sql(f"CREATE VIEW v AS {join}")
    held: dict[int, tuple] = {}
    for change in epochs:
        here, there = (outcome(pipeline, held, change) for pipeline in pipelines)
        assert here == there, f"{join}: {change}"
        if here != "refused":
            held = {i: row for i, row in (held | change).items() if row is not None}


def visited(rows: int) -> int:
    """The rows that a change of one row visits in a table of as many, all in one group."""
    pipeline = Pipeline()
    pipeline.sql(TABLE)
    pipeline.sql(f"CREATE VIEW v AS {JOINS[0]}")
    with pipeline.transaction() as change:
        change.insert("t", [(i, 0, i, None, None) for i in range(rows)])
    with pipeline.transaction() as change:
        change.insert("t", [(rows, 0, rows, None, None)])
    assert change.report.changed["v"].inserted == 1
    return change.report.rows_visited


@pytest.mark.parametrize("constant", ["2147483647 + 1", "2147483647 * 2", "CAST('x' AS INT)"])
def test_a_constant_without_a_value_is_an_error_of_the_rows_that_reach_it(constant):
    pipeline = Pipeline()
    pipeline.sql(f"{TABLE}; CREATE VIEW v AS SELECT a.id AS x FROM t a, t b WHERE a.n = b.n + ({constant})")
    with pytest.raises(EvaluationError):
        pipeline.sql("INSERT INTO t VALUES (1, 0, 0, 0, 0)")


@pytest.mark.parametrize("condition", ["n = NULL + 1", "n = (NULL + 1) + 1", "n = w + (NULL + 1)", "n = NULL - w"])
def test_sums_of_null_equal_nothing(condition):
    pipeline = Pipeline()
    pipeline.sql(f"{TABLE}; CREATE VIEW v AS SELECT id AS x FROM t WHERE {condition}")
    pipeline.sql("INSERT INTO t VALUES (1, 0, 0, 0, 0)")
    assert list(pipeline["v"]) == []


def test_a_change_visits_the_rows_that_it_meets():
    assert visited(4000) <= visited(400) + 8
