"""Statements read the rows that they need: look-ups by key cost the same in a small table and in a large one.

Catches a condition that leaves out rows which count, and a statement that reads a whole table for one row.
"""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pytest

import deltic
from deltic.pipeline.sql.evaluation import circuit_of
from deltic.pipeline.sql.needed import rows_needed
from deltic.pipeline.sql.planning import asked, effects

TABLE = "CREATE TABLE t (s STRING, d DATE, id INT PRIMARY KEY, n DECIMAL(6, 2), x DOUBLE, ok BOOLEAN)"
DAY = dt.date(2026, 1, 1)


def filled(rows, **options):
    pipeline = deltic.Pipeline(**options)
    pipeline.sql(TABLE)
    with pipeline.transaction() as change:
        change.insert("t", [row(number) for number in range(rows)])
    return pipeline


def row(number):
    if number % 11 == 10:
        return (None, None, number, None, None, None)
    days, cents = dt.timedelta(number % 7), Decimal(number % 5) / 4
    return (f"s{number % 4}", DAY + days, number, cents, number % 3 / 2, number % 2 == 0)


def read(pipeline, statement):
    """How many rows of the table a statement is evaluated over."""
    if statement.startswith("SELECT"):
        circuit = circuit_of([asked(statement, "<sql>", pipeline._definitions).definition])
    else:
        (effect,) = effects(statement, "<sql>", pipeline._definitions)
        circuit = circuit_of(effect.definitions)
    return rows_needed(circuit, "t", pipeline._version()).num_rows


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("UPDATE t SET x = 1 WHERE id = 7", 1),
        ("UPDATE t SET x = x + 1 WHERE 7 = id AND x > 100", 1),
        ("DELETE FROM t WHERE id IN (3, 4, 4, 9999)", 2),
        ("DELETE FROM t WHERE id BETWEEN 3 AND 5", 3),
        ("DELETE FROM t WHERE id > 3 AND id < 6", 4),
        ("SELECT x FROM t WHERE id = 7", 1),
        ("SELECT x FROM t WHERE id = 7 AND id = 8", 1),
    ],
)
@pytest.mark.parametrize("options", [{}, {"engine": "spark", "shards": 2}], ids=["local", "shards"])
def test_a_table_of_ten_times_as_many_rows_is_read_no_more(statement, rows, options):
    assert [read(filled(size, **options), statement) for size in (40, 400)] == [rows, rows]


def test_a_key_that_is_not_in_front_has_an_order_of_its_own():
    pipeline = filled(20)
    pipeline.execute("DELETE FROM t WHERE id = 3")
    orders = {size.columns for size in pipeline.sizes() if size.relation == "t" and size.role == "rows"}
    assert any(columns.startswith("id,") for columns in orders)


CONDITIONS = (
    *(
        "id = {i}",
        "id IN ({i}, {j}, 1)",
        "id BETWEEN {i} AND {j}",
        "id >= {i}",
        "id < {j}",
        "NOT id = {i}",
        "id <> {j}",
    ),
    *("s = 's1'", "s IN ('s1', 's9')", "s IS NULL", "'s1' < s", "d = DATE '2026-01-03'", "d > DATE '2026-01-03'"),
    *("n = 0.25", "n <= 0.50", "x = 0.5", "ok", "ok = true", "(id = {i} OR s = 's2')", "id + 1 = {i}", "id = NULL"),
)


@pytest.fixture(scope="module")
def sixty():
    return filled(60)


@pytest.mark.parametrize("seed", range(20))
def test_random_conditions(sixty, seed):
    rng, pipeline = random.Random(seed), sixty
    for _ in range(5):
        parts = [
            rng.choice(CONDITIONS).format(i=rng.randrange(60), j=rng.randrange(60)) for _ in range(rng.randint(1, 3))
        ]
        where = " AND ".join(parts)
        found = sorted(row.id for row in pipeline.query(f"SELECT id FROM t WHERE {where}"))
        assert found == sorted(row.id for row in pipeline.duckdb(f"SELECT id FROM t WHERE {where}")), where
        with pipeline.what_if() as change:
            change.sql(f"DELETE FROM t WHERE {where}")
            assert len(change.preview()["t"]) == 60 - len(found), where
