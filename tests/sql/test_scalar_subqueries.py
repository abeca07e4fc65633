"""Scalar subqueries that may have several rows: their value where there is one, and an error of the epoch where not.

Catches a row too many that goes unseen, an error that stays when its row has gone, and one for rows that nobody asks.
"""

from __future__ import annotations

import pytest

import deltic
from deltic.errors import EvaluationError
from tests.batches import slow

TABLES = "CREATE TABLE t (a INT, b INT); CREATE TABLE u (k INT, x STRING)"


@pytest.fixture(params=["local", "reference"])
def pipeline(request):
    found = deltic.Pipeline(engine=request.param)
    found.sql(TABLES)
    return found


def rows(pipeline, view):
    return sorted((tuple(row.values()) for row in pipeline[view].to_arrow().to_pylist()), key=repr)


def test_each_row_around_has_one(pipeline):
    pipeline.sql("CREATE VIEW v AS SELECT a, (SELECT x FROM u WHERE u.k = t.a) AS x FROM t WHERE b > 0")
    pipeline.sql(
        "INSERT INTO t VALUES (1, 1), (2, 1), (3, 0), (NULL, 1); INSERT INTO u VALUES (1, 'a'), (3, 'c'), (4, 'd')"
    )
    expected = [(1, "a"), (2, None), (None, None)]
    assert rows(pipeline, "v") == expected
    pipeline.sql("INSERT INTO u VALUES (3, 'd'), (4, 'd')")  # 3 is not asked for, and neither is 4
    assert rows(pipeline, "v") == expected
    with pytest.raises(EvaluationError) as caught:
        pipeline.sql("INSERT INTO u VALUES (1, 'b')")
    assert "SCALAR_SUBQUERY('SELECT x FROM u WHERE u.k = t.a', rows) is undefined for rows = 2" in str(caught.value)
    assert "LIMIT 1" in str(caught.value)
    with pytest.raises(EvaluationError):
        pipeline.sql("INSERT INTO t VALUES (3, 1)")
    assert rows(pipeline, "v") == expected
    with pipeline.transaction() as change:
        change.delete("u", [(1, "a")])
        change.insert("u", [(1, "b")])
    assert rows(pipeline, "v") == [(1, "b"), (2, None), (None, None)]


def test_one_for_all_rows(pipeline):
    pipeline.sql("CREATE VIEW v AS SELECT a FROM t WHERE b < (SELECT k FROM u)")
    pipeline.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    assert rows(pipeline, "v") == []
    pipeline.sql("INSERT INTO u VALUES (2, 'a')")
    assert rows(pipeline, "v") == [(1,)]
    with pytest.raises(EvaluationError):
        pipeline.sql("INSERT INTO u VALUES (2, 'a')")
    pipeline.sql("UPDATE u SET k = NULL")
    assert rows(pipeline, "v") == []


def test_a_group_for_each_row(pipeline):
    pipeline.sql("CREATE VIEW v AS SELECT a, (SELECT max(x) FROM u WHERE u.k >= t.a GROUP BY k) AS m FROM t")
    pipeline.sql("INSERT INTO t VALUES (2, 0); INSERT INTO u VALUES (2, 'a'), (2, 'b'), (1, 'c')")
    assert rows(pipeline, "v") == [(2, "b")]
    with pytest.raises(EvaluationError):
        pipeline.sql("INSERT INTO t VALUES (1, 0)")


@pytest.mark.parametrize("levels", [12, *slow([40])])
@pytest.mark.parametrize("condition", ["", " WHERE u.k >= t.b"])
def test_one_within_the_other(condition, levels):
    """Each level was lowered twice as often as the one around it: the slow suite has forty."""
    query = "SELECT 0"
    for _ in range(levels):
        query = f"SELECT ({query}) + max(u.k) FROM u{condition}"
    pipeline = deltic.Pipeline()
    pipeline.sql(f"{TABLES}; CREATE VIEW v AS SELECT a, ({query}) AS x FROM t")
    pipeline.sql("INSERT INTO t VALUES (1, 1), (2, 5); INSERT INTO u VALUES (1, 'a'), (3, 'c')")
    assert rows(pipeline, "v") == [(1, 3 * levels), (2, None if condition else 3 * levels)]
