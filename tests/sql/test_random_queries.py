"""Views of random queries, maintained through random changes, equal DuckDB's answers in every epoch, and so do changes.

What the generator is there to catch: NULL in keys of joins, under NOT IN and in groups; duplicates that joins multiply
and set operations subtract; outer joins whose rows gain and lose their matches; correlated subqueries over bindings
that come and go; groups that vanish, and the one group of an empty table; orders over ties that columns decide.

Run seeds with ``python -m tests.sql.test_random_queries FIRST LAST``.
"""

from __future__ import annotations

import random
import sys

import pytest

from tests.batches import first
from tests.sql.against_duckdb import disagreement
from tests.sql.random_forms import Forms
from tests.sql.random_queries import QueryMaker, random_schema

BATCHES, PER_BATCH = 40, 25


def check_seeds(seeds: range) -> None:
    """Fail with the query, the tables and both answers for the first seed on which they differ."""
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_schema(rng)
        query = QueryMaker(rng, schema).query()
        found = disagreement(query, schema, rng)
        if found:
            pytest.fail(f"seed {seed}, {found}", pytrace=False)


@pytest.mark.parametrize("batch", first(6, BATCHES))
def test_random_queries(batch, record_property):
    record_property("random SQL queries", PER_BATCH)
    check_seeds(range(batch * PER_BATCH, (batch + 1) * PER_BATCH))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(40))
def test_four_times_as_many_random_queries(batch, record_property):
    record_property("random SQL queries", 100)
    check_seeds(range(1_000_000 + batch * 100, 1_000_000 + (batch + 1) * 100))


def check_forms(seeds: range) -> None:
    """The same for queries in forms that DuckDB has in other words."""
    for seed in seeds:
        rng = random.Random(seed)
        schema = random_schema(rng)
        form = Forms(rng, schema).form()
        if found := disagreement(form.spark, schema, rng, translated=form.duckdb):
            pytest.fail(f"seed {seed}, {found}\n{form.duckdb}", pytrace=False)


@pytest.mark.parametrize("batch", first(4, 6))
def test_random_forms(batch, record_property):
    record_property("random SQL queries", PER_BATCH)
    check_forms(range(batch * PER_BATCH, (batch + 1) * PER_BATCH))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(2))
def test_more_random_forms(batch, record_property):
    record_property("random SQL queries", 100)
    check_forms(range(1_000_000 + batch * 100, 1_000_000 + (batch + 1) * 100))


if __name__ == "__main__":
    check_seeds(range(*map(int, sys.argv[1:])))
