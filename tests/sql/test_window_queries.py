"""Queries with window functions and LIMIT as maintained views, against DuckDB after each random change.

Catches a window over the wrong rows: before WHERE, GROUP BY or another window, across bindings of a subquery, or with
the frame of another. Where rows tie, orders name all columns.
"""

from __future__ import annotations

import random

import pytest
import sqlglot

import deltic
from deltic.errors import ProgramError
from deltic.sql.queries import view_circuit
from deltic.sql.text import SourceText
from tests.sql.against_duckdb import disagreement, relations
from tests.sql.random_queries import Column, Table

TABLES = (
    Table(
        "t",
        (
            Column("k", "INT", True),
            Column("x", "INT", True),
            Column("f", "DOUBLE", False),
            Column("d", "DATE", True),
            Column("s", "STRING", True),
            Column("m", "DECIMAL(6, 2)", True),
        ),
    ),
)
ALL = "x, f, d, s, m"
QUERIES = (
    f"SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY {ALL}) AS n FROM t",
    "SELECT k, rank() OVER w AS r, dense_rank() OVER w AS q, sum(x) OVER (w ROWS UNBOUNDED PRECEDING) AS t FROM t "
    f"WINDOW w AS (PARTITION BY k ORDER BY {ALL})",
    "SELECT k, x, sum(x) OVER (PARTITION BY k) AS n, count(*) OVER (ORDER BY x) AS c FROM t",
    f"SELECT k, lag(x, 1, 0) OVER (PARTITION BY k ORDER BY {ALL}) AS n, lead(s) OVER (ORDER BY k, {ALL}) AS l FROM t",
    "SELECT k, sum(x) AS s, rank() OVER w AS r, sum(sum(x)) OVER (ORDER BY k) AS q FROM t GROUP BY k "
    "WINDOW w AS (ORDER BY sum(x) DESC)",
    "SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY x DESC, f, d, s, m) <= 2",
    f"SELECT k, x FROM (SELECT *, row_number() OVER (PARTITION BY s ORDER BY k, {ALL}) AS n FROM t) AS q WHERE n = 1",
    "SELECT k, avg(m) OVER (PARTITION BY s) AS a, sum(m) OVER (ORDER BY m) AS b FROM t",
    "SELECT k, avg(f) OVER (ORDER BY f RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM t",
    "SELECT d, count(*) OVER (ORDER BY d RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND INTERVAL '1' DAY FOLLOWING) AS a "
    "FROM t",
    "SELECT k, first_value(x) OVER (PARTITION BY k ORDER BY x) AS a, "
    "last_value(x) IGNORE NULLS OVER (PARTITION BY k ORDER BY x DESC NULLS FIRST) AS b FROM t",
    "SELECT k, percent_rank() OVER (ORDER BY x) AS a, cume_dist() OVER (ORDER BY x NULLS LAST) AS b, "
    f"ntile(3) OVER (ORDER BY k, {ALL}) AS c FROM t",
    "SELECT k, max(x + 1) FILTER (WHERE x > 1) OVER (PARTITION BY k) + row_number() OVER (ORDER BY k, x, f, d, s, m) "
    "AS z FROM t WHERE x IS NOT NULL",
    "SELECT a.k, (SELECT max(n) FROM (SELECT count(*) OVER (PARTITION BY x) AS n, k AS j FROM t) AS b WHERE b.j = a.k) "
    "AS m, count(a.x) OVER (PARTITION BY a.k) AS c FROM t a",
    "SELECT DISTINCT k, max(x) OVER (PARTITION BY k) AS m FROM t ORDER BY m DESC NULLS LAST, k NULLS FIRST LIMIT 3",
    "SELECT DISTINCT k, max(x) OVER (PARTITION BY k) AS z FROM t ORDER BY z + k NULLS LAST, k, z LIMIT 2",
    "SELECT DISTINCT k AS x, sum(x) AS k FROM t GROUP BY k ORDER BY x DESC NULLS LAST, sum(x) LIMIT 2",
    "SELECT DISTINCT x % 2 AS x FROM t ORDER BY x NULLS LAST LIMIT 2",
    "SELECT k, x FROM t ORDER BY x DESC NULLS LAST, k, f, d, s, m LIMIT 4 OFFSET 1",
)


@pytest.mark.parametrize("query", QUERIES)
def test_against_duckdb(query):
    for seed in range(2):
        assert not disagreement(query, TABLES, random.Random(seed), 4)


@pytest.mark.parametrize("key", ["max(x) OVER (PARTITION BY k)", "sum(x)", "k + sum(x)"])
def test_what_is_distinct_is_ordered_by_what_is_selected(key):
    query = f"SELECT DISTINCT k FROM t {'' if 'OVER' in key else 'GROUP BY k '}ORDER BY {key} LIMIT 2"
    with pytest.raises(ProgramError, match="SELECT DISTINCT is ordered by what it selects"):
        disagreement(query, TABLES, random.Random(0), 1)


REFUSED = {
    "SELECT rank() OVER v AS r FROM t WINDOW w AS (ORDER BY x)": "there is no window v",
    "SELECT k FROM t WHERE rank() OVER (ORDER BY x) = 1": "WHERE cannot have a window function",
}


@pytest.mark.parametrize("query", REFUSED)
def test_refusals(query):
    with pytest.raises(ProgramError, match=REFUSED[query]):
        view_circuit(sqlglot.parse_one(query, read="spark"), relations(TABLES), "v", SourceText(query))


@pytest.mark.parametrize(("direction", "turned"), [("", False), (" DESC", True)])
def test_collect_list_is_in_the_order_of_its_window(direction, turned):
    """Spark's arrays over a window have its order, without NULL, up to the row and its peers."""
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (k INT, at INT, x STRING)")
    pipeline.sql(
        f"CREATE VIEW v AS SELECT at, collect_list(x) OVER (PARTITION BY k ORDER BY at{direction}) AS xs, "
        f"array_agg(at) OVER (PARTITION BY k ORDER BY at{direction}, x{direction} "
        "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two FROM t"
    )
    pipeline.sql("INSERT INTO t VALUES (1, 3, 'a'), (1, 1, 'z'), (1, 2, NULL), (1, NULL, 'n'), (2, 9, 'q')")
    pipeline.sql("DELETE FROM t WHERE x = 'z'; INSERT INTO t VALUES (1, 1, 'y')")
    order = [(None, "n"), (1, "y"), (2, None), (3, "a")]
    order = order[::-1] if turned else order
    expected = {9: (["q"], [9])}
    for i, (at, _) in enumerate(order):
        xs = [x for _, x in order[: i + 1] if x is not None]
        expected[at] = (xs, [a for a, _ in order[max(i - 1, 0) : i + 1] if a is not None])
    assert {row["at"]: (row["xs"], row["two"]) for row in pipeline["v"].to_arrow().to_pylist()} == expected
