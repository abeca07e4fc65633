"""String literals as Spark reads them: quotes doubled, strings side by side, and raw ones."""

from __future__ import annotations

import pytest

import deltic

WRITTEN = {
    "'it''s'": "it's",
    "'a' 'b'": "ab",
    "'x''y' 'z'": "x'yz",
    "''''": "'",
    "'a''' ''": "a'",
    r"'a\'b'": "a'b",
    r"r'\d+'": r"\d+",
}


@pytest.mark.parametrize("written", WRITTEN)
def test_a_string(written):
    (row,) = deltic.Pipeline().sql(f"SELECT 1 AS one, {written} AS text, 'x'").to_arrow().to_pylist()
    assert row["text"] == WRITTEN[written]


def test_questions_are_ordered_by_what_they_do_not_show():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2), (1, 1), (2, 5)")
    found = pipeline.sql("SELECT DISTINCT ON (a) b FROM t ORDER BY a DESC, b").to_arrow()
    assert found.to_pydict() == {"b": [5, 1]}
