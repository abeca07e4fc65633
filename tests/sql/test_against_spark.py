"""Views maintained through random changes equal Spark's own answers to their queries in every epoch.

Catches a meaning that Deltic shares with DuckDB and not with Spark: NULLs, bags, decimals, windows of time. Spark's
answers are those that `against_spark` has recorded; the slow tests ask Spark itself.
"""

from __future__ import annotations

import random

import pytest

from tests.sql.against_spark import FORMS, TIMES, WINDOWS, Course, answers, followed, random_course, recorded


def check(course, expected):
    for query, bags in expected.items():
        for epoch, (found, bag) in enumerate(zip(followed(query, course), bags, strict=True)):
            message = f"epoch {epoch}: {query}\nSpark  {bag}\nDeltic {found}\n{course.states[epoch]}"
            assert found == bag, message


def test_what_spark_has_answered(record_property):
    courses = recorded()
    for course, expected in courses:
        check(course, expected)
    count = sum(len(expected) for _, expected in courses)
    record_property("SQL queries against Spark", count)
    assert count >= 100 + len(WINDOWS) + len(FORMS)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(100, 104))
def test_what_spark_answers(spark, seed):
    course, queries = random_course(seed, 10)
    check(course, answers(spark, course, queries))
    times = Course.of(TIMES, random.Random(seed))
    check(times, answers(spark, times, WINDOWS[:4]))
