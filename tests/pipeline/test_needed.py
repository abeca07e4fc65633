"""Statements read the rows that they need: look-ups by key cost the same in a small table and in a large one.

Catches a condition that leaves out rows which count, and a statement that reads a whole table for one row.
"""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pytest

import deltic
from deltic.pipeline.sql.needed import rows_needed
from deltic.pipeline.sql.planning import asked, circuit_of, effects

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


@pytest.mark.parametrize("options", [{}, {"engine": "spark", "shards": 2}], ids=["local", "shards"])
def test_a_key_that_is_not_in_front_has_an_order_of_its_own(options):
    pipeline = filled(20, **options)
    pipeline.execute("DELETE FROM t WHERE id = 3")
    rows = [size for size in pipeline.sizes() if size.role == "rows"]
    by_key = {size.relation for size in rows if size.columns.startswith("id,")}
    assert by_key == {size.relation for size in rows if size.relation.split()[0] == "t"}


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


@pytest.mark.parametrize("seed", range(6))
def test_merges_find_the_rows_that_match(seed):
    """Held against a dict: upserts by ON CONFLICT and by MERGE, with keys that are there, are not, and are NULL."""
    rng = random.Random(seed)
    pipeline = deltic.Pipeline()
    pipeline.sql(
        "CREATE TABLE t (s STRING, a BIGINT, b STRING, PRIMARY KEY (a, b));"
        "CREATE TABLE other (a INT, b STRING, s STRING)"
    )
    expected: dict[tuple[int, str], str] = {}
    for number in range(12):
        rows = {(rng.randrange(6), rng.choice("xyz")): f"s{rng.randrange(4)}" for _ in range(rng.randint(1, 3))}
        values = ", ".join(f"('{s}', {a}, '{b}')" for (a, b), s in rows.items())
        match number % 3:
            case 0:
                pipeline.execute(f"INSERT INTO t VALUES {values} ON CONFLICT (a, b) DO UPDATE SET s = excluded.s")
                expected |= rows
            case 1:
                with pipeline.transaction() as change:
                    change.sql("DELETE FROM other")
                    change.insert(
                        "other", [(a, b, s) for (a, b), s in rows.items()] + [(None, "x", "none"), (1, None, "none")]
                    )
                pipeline.execute(
                    "MERGE INTO t USING other o ON o.a = t.a AND o.b = t.b AND t.s <> 's3' "
                    "WHEN MATCHED AND o.s = 's0' THEN DELETE WHEN MATCHED THEN UPDATE SET s = o.s"
                )
                for key, s in rows.items():
                    if key in expected and expected[key] != "s3":
                        expected[key] = s
                        if s == "s0":
                            del expected[key]
            case 2:
                pipeline.execute(
                    "MERGE INTO t USING (SELECT a + 1 AS a, b, s FROM t) u ON t.a = u.a AND t.b = u.b "
                    "WHEN MATCHED THEN UPDATE SET s = u.s"
                )
                expected = {(a, b): expected.get((a - 1, b), s) for (a, b), s in expected.items()}
        assert {(row.a, row.b): row.s for row in pipeline["t"]} == expected


def test_a_merge_is_evaluated_over_the_rows_that_match():
    pipeline = filled(40)
    for statement in (
        "INSERT INTO t (id, s) VALUES (3, 'x'), (99, 'y') ON CONFLICT (id) DO UPDATE SET s = excluded.s",
        "MERGE INTO t USING (SELECT 3 AS i) u ON t.id = u.i WHEN MATCHED THEN DELETE",
    ):
        (effect,) = effects(statement, "<sql>", pipeline._definitions)
        assert effect.keyed == ("id",)
    for statement in (
        "MERGE INTO t USING (SELECT 3 AS i) u ON t.id = u.i WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "MERGE INTO t USING (SELECT id AS i FROM t) u ON t.id = u.i WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING (SELECT '3' AS i) u ON t.id = u.i WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING (SELECT 3 AS i) u ON t.id > u.i WHEN MATCHED THEN DELETE",
    ):
        (effect,) = effects(statement, "<sql>", pipeline._definitions)
        assert effect.keys is None, statement


@pytest.mark.parametrize("rows", [1, 32, 33, 100])
def test_few_rows_and_many_get_the_same_values(rows):
    """Few rows are computed one by one, many by vectors: NULL, casts, duplicates, texts."""
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (a BIGINT, b DECIMAL(5, 2), c STRING)")
    numbers = [number % 9 for number in range(rows)]
    pipeline.sql(f"INSERT INTO t VALUES {', '.join(['(? + 1, 10 * ? / 4, upper(nullif(?, ?)))'] * rows)}", args=[
        part for n in numbers for part in (n, Decimal(n), f"x{n}", "x3")
    ])  # fmt: skip
    expected = sorted((n + 1, Decimal(10 * n) / 4, None if n == 3 else f"X{n}") for n in numbers)
    assert sorted((row.a, row.b, row.c) for row in pipeline["t"]) == expected
    pipeline.sql("UPDATE t SET a = a * 2, c = coalesce(c, 'none') WHERE b > 1")
    changed = [(a * 2, b, c or "none") if b > 1 else (a, b, c) for a, b, c in expected]
    assert sorted((row.a, row.b, row.c) for row in pipeline["t"]) == sorted(changed)


def test_few_rows_and_many_fail_with_the_same_message():
    messages = set()
    for rows in (1, 40):
        pipeline = deltic.Pipeline()
        pipeline.sql("CREATE TABLE t (a BIGINT)")
        with pytest.raises(deltic.DelticError) as error:
            pipeline.sql(f"INSERT INTO t VALUES {', '.join(['(7 div ?)'] * rows)}", args=[0] * rows)
        assert len(pipeline["t"]) == 0
        messages.add(str(error.value).splitlines()[0])
    assert len(messages) == 1, messages
