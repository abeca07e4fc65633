"""Random queries of right types are answered, as the reference engine and a live Spark answer them, in every epoch.

Catches a right query that is refused, and functions and clauses that are right by themselves and not together.
"""

from __future__ import annotations

import random

import pytest

from deltic.engine.reference import ReferenceEngine
from tests.sql.against_spark import Course, answers, followed
from tests.sql.right_queries import TABLES, RightQueries


def course_of(seed, count):
    """Tables through random changes, and queries over them."""
    rng = random.Random(seed)
    queries = RightQueries(rng)
    return Course.of(TABLES, rng), [queries.query() for _ in range(count)]


@pytest.mark.parametrize("seed", range(2))
def test_right_queries_are_answered_as_by_the_reference(seed):
    course, queries = course_of(seed, 10)
    for query in queries:
        assert list(followed(query, course)) == list(followed(query, course, ReferenceEngine)), query


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(100, 110))
def test_right_queries_are_answered_as_by_spark(spark, seed):
    course, queries = course_of(seed, 20)
    expected = answers(spark, course, queries)
    assert set(expected) == set(queries), "Spark refuses a query: the generator is to make right ones"
    for query, bags in expected.items():
        assert list(followed(query, course)) == bags, query
