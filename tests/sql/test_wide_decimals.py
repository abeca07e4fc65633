"""Decimals of more than 18 digits in maintained views, small and large ones side by side, through random changes.

Catches numbers around the place where they cease to fit into 64 bits that lose digits, equality or order there, text
order in place of theirs, arithmetic and sums that wrap around, and overflow that passes or is found where none is.
"""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

import deltic
from deltic.engine.engine import IncrementalEngine
from deltic.engine.reference import ReferenceEngine
from deltic.errors import EvaluationError
from deltic.values.numbers import EXACT
from deltic.values.types import Type
from tests.sql import against_duckdb as harness
from tests.sql.random_queries import Column, Table

EDGE = 1 << 60
WHOLE = [0, 1, -1, 7, EDGE - 1, EDGE, EDGE + 1, 1 - EDGE, -EDGE, -EDGE - 1, 2**63, -(2**63), 2**64, 10**19, 10**27]
SUMMANDS = [*WHOLE, 10**28 - 1, 1 - 10**28]
ANY = [*WHOLE, 10**37, 10**37 + 1, 10**38 - 1, 1 - 10**38]
DECIMALS = {
    "DECIMAL(38, 2)": (Type.decimal(38, 2), [EXACT.scaleb(Decimal(n), -2) for n in ANY]),
    "DECIMAL(28, 5)": (Type.decimal(28, 5), [EXACT.scaleb(Decimal(n), -5) for n in SUMMANDS]),
    "DECIMAL(20, 0)": (Type.decimal(20), [Decimal(n) for n in WHOLE[:-1]]),
}
SCHEMA = (
    Table("r", (Column("k", "INT"), Column("x", "DECIMAL(38, 2)"), Column("y", "DECIMAL(38, 2)"))),
    Table("s", (Column("k", "INT"), Column("x", "DECIMAL(38, 2)"))),
    Table("t", (Column("k", "INT"), Column("x", "DECIMAL(28, 5)"), Column("y", "DECIMAL(20, 0)"))),
)
QUERIES = [
    "SELECT x, count(*) AS n FROM r GROUP BY x",
    "SELECT DISTINCT x, y FROM r",
    "SELECT r.k, s.k AS j, r.x FROM r JOIN s ON r.x = s.x",
    "SELECT r.k, s.k AS j, r.x, s.x AS z FROM r JOIN s ON r.k = s.k AND r.x < s.x",
    "SELECT r.x, s.k FROM r LEFT JOIN s ON r.x = s.x",
    "SELECT x FROM r WHERE x NOT IN (SELECT x FROM s WHERE x IS NOT NULL)",
    "SELECT k, min(x) AS a, max(x) AS b, count(DISTINCT y) AS c FROM r GROUP BY k",
    "SELECT min(x) AS a, max(y) AS b FROM r",
    "SELECT k, x FROM r ORDER BY x, k LIMIT 4",
    "SELECT k, x FROM r ORDER BY x DESC NULLS LAST, k LIMIT 4 OFFSET 1",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x DESC) AS p FROM r",
    "SELECT k, x, max(x) OVER (PARTITION BY k) AS p, lag(x) OVER (PARTITION BY k ORDER BY x) AS q FROM r",
    "SELECT CASE WHEN x > y THEN x WHEN k > 1 THEN y ELSE -x END AS z FROM r",
    "SELECT coalesce(x, y) AS a, greatest(x, y) AS b, least(x, y) AS c, abs(x) AS d FROM r",
    "SELECT x FROM r WHERE x > CAST('12345678901234567890.12' AS DECIMAL(38, 2)) OR x = y",
    "SELECT x FROM r WHERE x <=> y",
    "SELECT x FROM r UNION SELECT x FROM s",
    "SELECT x FROM r EXCEPT SELECT x FROM s",
    "SELECT k, sum(x) AS s, sum(y) AS z FROM t GROUP BY k",
    "SELECT sum(x) AS s FROM t",
    "SELECT CAST(x AS DECIMAL(38, 7)) AS a, CAST(y AS DECIMAL(38, 10)) AS b FROM t",
]
# Against the reference alone: DuckDB's types and errors are other ones.
COMPUTED = [
    *(f"SELECT x {op} y AS z FROM {table}" for op in "+-*/%" for table in "rt"),
    "SELECT k, avg(x) AS a, avg(y) AS b, sum(y) AS c FROM t GROUP BY k",
    "SELECT k, avg(x) AS a FROM r GROUP BY k",
    "SELECT sum(x) AS a FROM r",
    "SELECT sum(x * y) AS a FROM t",
    "SELECT k, sum(x * (1 - y)) AS a FROM t GROUP BY k",
    "SELECT CAST(x AS DECIMAL(30, 0)) AS a, CAST(y AS BIGINT) AS b, CAST(x AS DOUBLE) AS c FROM t",
    "SELECT CAST(TRY_CAST(k / 2 AS DECIMAL(38, 20)) AS INT) AS a, CAST(0BD + k AS INT) AS b FROM r",
    "SELECT round(x, 1) AS a, x div 3 AS b FROM t",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k) AS a, max_by(k, x) AS b, mode(y) AS c FROM t",
    "SELECT k, collect_list(x) AS a FROM r GROUP BY k",
    "SELECT x, sum(y) OVER (PARTITION BY k ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t",
    "SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS n FROM r",
]


@pytest.fixture(autouse=True)
def decimals(monkeypatch):
    monkeypatch.setattr(harness, "TYPES", harness.TYPES | {name: type_ for name, (type_, _) in DECIMALS.items()})
    monkeypatch.setattr(harness, "VALUES", {**harness.VALUES, **{name: v for name, (_, v) in DECIMALS.items()}})


@pytest.mark.parametrize("query", QUERIES)
def test_views_equal_duckdb(query):
    for seed in range(2):
        assert not (found := harness.disagreement(query, SCHEMA, random.Random(seed), 4)), found


def outcome(engine, batches):
    """The view after an epoch, with its change, or the reason why the epoch is rejected."""
    try:
        result = engine.apply(batches, "trust")
    except EvaluationError as error:
        return str(error).split(":")[-1].split(" with ")[0].split(";")[0]
    change = result.changes["v"].to_pylist() if "v" in result.changes else []
    return sorted(map(repr, engine.read("v", counted=True).to_pylist())), sorted(map(repr, change))


@pytest.mark.parametrize("query", COMPUTED)
@pytest.mark.parametrize("small", [False, True])
def test_views_equal_the_reference(query, small, monkeypatch):
    if small:
        few = {name: values[:9:2] for name, (_, values) in DECIMALS.items()}
        monkeypatch.setattr(harness, "VALUES", {**harness.VALUES, **few})
    circuit = harness.circuit_of(query, SCHEMA)
    rng = random.Random(query)
    state = {table.name: harness.Bag() for table in SCHEMA}
    engines = [IncrementalEngine(circuit), ReferenceEngine(circuit)]
    for _ in range(5):
        changes = {t.name: harness.random_change(rng, t.columns, state[t.name]) for t in SCHEMA}
        batches = harness.batches_of(circuit, SCHEMA, changes)
        ours, theirs = (outcome(engine, batches) for engine in engines)
        assert isinstance(ours, str) == isinstance(theirs, str), (ours, theirs)
        if isinstance(ours, str):
            continue
        assert ours == theirs
        for name, change in changes.items():
            state[name] = +harness.Bag({row: state[name][row] + change[row] for row in state[name] | change})


def test_the_quotients_of_zero():
    """Rescaled by a factor beyond 64 bits, which no zero is too great for."""
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE q (x DECIMAL(17, 2), y DECIMAL(17, 2)); CREATE VIEW v AS SELECT x / y AS z FROM q")
    pipeline.sql("INSERT INTO q VALUES (0, 3), (NULL, 3)")
    assert sorted(pipeline["v"], key=repr) == [(Decimal(0).scaleb(-20),), (None,)]
    pipeline.sql("INSERT INTO q VALUES (3, 1.5); DELETE FROM q WHERE x IS NULL")
    assert sorted(pipeline["v"]) == [(Decimal(0),), (Decimal(2),)]
