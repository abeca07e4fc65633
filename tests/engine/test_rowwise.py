"""Rows computed one by one are those of the reference interpreter.

Catches a weight that is lost where rows become equal, an undefined row that is kept, and NULL in a condition.
"""

from __future__ import annotations

import random

import pytest

from deltic.engine.reference import ReferenceEngine
from deltic.engine.rowwise import computed, is_by_rows
from tests.sql import against_duckdb as harness
from tests.sql.random_queries import Column, Table

SCHEMA = (
    Table("t", (Column("a", "INT"), Column("b", "INT"), Column("s", "STRING"))),
    Table("u", (Column("k", "INT"), Column("x", "INT"))),
)
QUERIES = (
    "SELECT a FROM t",
    "SELECT a + b AS x, upper(s) AS s FROM t WHERE a > 1 OR b IS NULL",
    "SELECT 1 AS x FROM t WHERE a >= b",
    "SELECT a, b FROM t WHERE a > 0 UNION ALL SELECT k, x FROM u UNION ALL VALUES (7, NULL)",
    "SELECT CASE WHEN a > b THEN a ELSE b END AS x FROM t WHERE NOT (a > 1)",
)


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_the_reference(query: str) -> None:
    circuit, rng = harness.circuit_of(query, SCHEMA), random.Random(query)
    assert is_by_rows(circuit)
    for _ in range(3):
        changes = {t.name: harness.random_change(rng, t.columns, harness.Bag()) for t in SCHEMA}
        batches = harness.batches_of(circuit, SCHEMA, changes)
        reference = ReferenceEngine(circuit)
        reference.apply(batches, "trust")
        found, expected = (engine.read("v", counted=True) for engine in (computed(circuit, batches), reference))
        assert harness.bag_of(found) == harness.bag_of(expected) != harness.Bag()
        assert found.schema == expected.schema


@pytest.mark.parametrize("query", ["SELECT DISTINCT a FROM t", "SELECT count(*) AS n FROM t"])
def test_what_looks_at_several_rows_is_left_to_an_engine(query: str) -> None:
    assert not is_by_rows(harness.circuit_of(query, SCHEMA))
