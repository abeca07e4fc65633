"""Statements over fixed tables have Spark's own answers, with its names of columns; answers.jsonl has both.

Catches a clause that is read and then forgotten, such as ORDER BY behind VALUES, joins of a query that begins with
FROM, and the place of columns in `*`: what random queries do not write.
"""

from __future__ import annotations

import json

import pytest

import deltic
from tests.sql.answers import ANSWERS, TABLES, shown

KNOWN = [json.loads(line) for line in ANSWERS.read_text().splitlines()]


@pytest.fixture(scope="module")
def pipeline():
    result = deltic.Pipeline()
    result.sql(TABLES)
    return result


@pytest.mark.parametrize(("statement", "answer"), [(statement, answer) for statement, *answer in KNOWN])
def test_an_answer_is_that_of_spark(pipeline, statement, answer):
    result = shown(pipeline.sql(statement).to_arrow())
    if "ORDER BY" in statement.rpartition(")")[2]:
        assert result == answer
    assert result[0] == answer[0]
    assert sorted(result[1:]) == sorted(answer[1:])
