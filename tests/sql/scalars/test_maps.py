"""Maps keep the order in which they are made, and are equal in any order, as in Spark.

Catches a map that is sorted on its way, and equal maps that are two groups.
"""

from __future__ import annotations

import pytest

from deltic import Pipeline

# What Spark answers over the rows (map(3, 1, 1, 2)), (map(1, 2, 3, 1)) of t; both refuse set operations on maps.
ANSWERS = {
    "SELECT map_keys(m) AS k, count(*) AS n FROM t GROUP BY m": [([1, 3], 2)],
    "SELECT to_json(s) AS k, count(*) AS n FROM (SELECT struct(m) AS s FROM t) GROUP BY s": [
        ('{"m":{"1":2,"3":1}}', 2)
    ],
    "SELECT count(DISTINCT m) AS n FROM t": [(1,)],
    "SELECT map_keys(m) AS k FROM t": [([1, 3],), ([3, 1],)],
    "SELECT key FROM t LATERAL VIEW explode(m) AS key, value WHERE map_keys(m)[0] = 3": [(1,), (3,)],
    "SELECT to_json(m) AS j FROM t": [('{"1":2,"3":1}',), ('{"3":1,"1":2}',)],
}


@pytest.mark.parametrize("query", ANSWERS)
def test_a_map_keeps_its_order_and_is_equal_in_any(query: str) -> None:
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (m MAP<INT, INT>)")
    pipeline.sql(f"CREATE VIEW v AS {query}")
    pipeline.sql("INSERT INTO t VALUES (map(3, 1, 1, 2)), (map(1, 2, 3, 1)), (map(7, 7))")
    pipeline.sql("DELETE FROM t WHERE map_contains_key(m, 7)")
    assert sorted(tuple(row) for row in pipeline.sql("SELECT * FROM v")) == ANSWERS[query]


def test_a_dict_is_the_same_row_in_any_order() -> None:
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (m MAP<INT, INT>)")
    with pipeline.transaction() as change:
        change.insert("t", [({3: 1, 1: 2},)])
    with pipeline.transaction() as change:
        change.delete("t", [({1: 2, 3: 1},)])
    assert not list(pipeline.sql("SELECT * FROM t"))
