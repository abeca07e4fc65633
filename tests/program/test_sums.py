"""Joins of many sums, outer joins, defaults of counts and unions, make as many rules as there are sums, and are right.

Catches sums that are multiplied out, which makes 2ⁿ rules of n of them.
"""

from __future__ import annotations

import random

import pytest

from deltic.calculus import incrementalize
from deltic.program.compiling import extract
from tests.sql.against_duckdb import circuit_of, disagreement
from tests.sql.random_queries import Column, Table

SUMS = range(7)
TABLES = tuple(
    Table(name, (Column("k", "BIGINT"), Column(name.replace("r", "b"), "BIGINT")))
    for name in ("t", *(f"r{i}" for i in SUMS))
)
MANY = {
    "outer joins": f"SELECT t.k, {', '.join(f'b{i}' for i in SUMS)} FROM t "
    + " ".join(f"LEFT JOIN r{i} ON r{i}.k = t.k" for i in SUMS),
    "counts": f"SELECT k, {', '.join(f'(SELECT count(*) FROM r{i} WHERE r{i}.k = t.k) AS c{i}' for i in SUMS)} FROM t",
    "totals": f"SELECT k, {', '.join(f'(SELECT sum(b{i}) FROM r{i}) AS s{i}' for i in SUMS)} FROM t",
    "unions": "SELECT t.k FROM t, "
    + ", ".join(f"(SELECT k FROM r{i} UNION ALL SELECT b{i} FROM r{i}) u{i}" for i in SUMS)
    + f" WHERE {' AND '.join(f'u{i}.k = t.k' for i in SUMS)}",
}


@pytest.mark.parametrize("name", MANY)
def test_many_sums_make_few_rules(name):
    program = extract(incrementalize(circuit_of(MANY[name], TABLES)))
    assert len(program.rules) <= 10 * len(SUMS)
    assert disagreement(MANY[name], TABLES, random.Random(1), epochs=2) == ""


def test_joins_are_not_kept_without_the_conditions_above_them():
    union = " UNION ALL ".join(f"SELECT k, 'r{i}' AS kind FROM r{i}" for i in SUMS)
    # The division, which may be an error, keeps what stands beside it from being decided below the joins.
    chosen = "a.k = b.k AND b.k = c.k AND a.kind = 'r1' AND b.kind = 'r2' AND c.kind = 'r0' AND a.k / 2 > 1"
    query = f"WITH u AS ({union}) SELECT a.k FROM u a, u b, u c WHERE {chosen}"
    program = extract(incrementalize(circuit_of(query, TABLES)))
    assert all(len(rule.body.atoms) == 1 for rule in program.rules if rule.head != "v")
    assert disagreement(query, TABLES, random.Random(1), epochs=2) == ""
