"""Queries written with pipes equal DuckDB's answers to what they stand for, through random changes.

Catches an operator that is done before the one that it stands behind, a DISTINCT, LIMIT or alias that is passed over,
and a join whose condition is taken for one on rows that it makes.
"""

from __future__ import annotations

import random

import pytest

import deltic
from deltic.errors import ProgramError
from tests.sql.against_duckdb import disagreement
from tests.sql.test_queries import SCHEMA

PIPES = {
    "from t |> where a > 1 |> select b, c |> where b < 3": "select b, c from t where a > 1 and b < 3",
    "from t |> select distinct a |> aggregate count(*) as n": "select count(*) as n from (select distinct a from t)",
    "from t |> aggregate sum(b) as s, count(*) as n group by a as k, c |> where n > 1 |> drop n": (
        "select a as k, c, sum(b) as s from t group by a, c having count(*) > 1"
    ),
    "from t |> order by a, b, c |> limit 3 |> where a > 0": (
        "select * from (select * from t order by a nulls first, b nulls first, c nulls first limit 3) where a > 0"
    ),
    "from t |> where a > 1 |> full join u on t.a = u.k |> select b, x": (
        "select b, x from (select * from t where a > 1) t full join u on t.a = u.k"
    ),
    "from t |> set a = a + 1, b = a * 2 |> select a, b": "select a + 1 as a, (a + 1) * 2 as b from t",
    "from t |> extend a + b as d |> as q |> join u on q.d = u.k |> select q.c, u.x": (
        "select c, x from t join u on a + b = k"
    ),
    "table t |> select a |> union all (select k from u) |> aggregate count(*) as n, max(a) as m": (
        "select count(*) as n, max(a) as m from (select a from t union all select k from u)"
    ),
    "from t |> select a, b |> except (select k, x from u)": "select a, b from t except select k, x from u",
    "from t |> select a, row_number() over (order by a, b, c) as r |> where r = 2": (
        "select a, r from (select a, row_number() over (order by a nulls first, b nulls first, c nulls first) as r "
        "from t) where r = 2"
    ),
    "select a from t where a in (from u |> where x > 1 |> select k)": (
        "select a from t where a in (select k from u where x > 1)"
    ),
    "with w as (from t |> where b > 1) select count(*) as n from w": "select count(*) as n from t where b > 1",
}


@pytest.mark.parametrize("query", PIPES)
def test_a_pipe_is_what_it_stands_for(query):
    for seed in range(2):
        assert disagreement(query, SCHEMA, random.Random(seed), translated=PIPES[query]) == ""


@pytest.mark.parametrize(
    "query", ["from t |> set a + 1", "from t |> select a from u", "from t |> sleep", "from t |> limit 1 |> limit 2"]
)
def test_what_is_no_operator_is_refused(query):
    pipeline = deltic.Pipeline()
    with pytest.raises(ProgramError, match="cannot stand here"):
        pipeline.sql(f"CREATE TABLE t (a INT); CREATE TABLE u (a INT); {query}")
    assert list(pipeline.sql("SHOW TABLES")) == []


def test_columns_that_are_dropped_behind_others_that_are_set():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (a INT, b INT, c STRING); INSERT INTO t VALUES (1, 2, 'x')")
    answer = pipeline.sql("FROM t |> EXTEND a + b AS e |> SET b = b * 2 |> DROP c, a").to_arrow()
    assert answer.to_pylist() == [{"b": 4, "e": 3}]
