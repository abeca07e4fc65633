"""Each construct of queries by itself: its view equals DuckDB's answer through random changes, and so does its change.

Catches what random queries meet rarely, such as pivots, lateral joins and recursion, and tells what is wrong by its
text.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from deltic import Pipeline
from deltic.errors import ProgramError
from tests.sql.against_duckdb import circuit_of, disagreement
from tests.sql.random_queries import Column, Table

SCHEMA = (
    Table("t", (Column("a", "BIGINT"), Column("b", "BIGINT"), Column("c", "STRING"))),
    Table("u", (Column("k", "BIGINT"), Column("x", "BIGINT"))),
    Table("v", (Column("k", "BIGINT", nullable=False), Column("y", "BIGINT"))),
)
QUERIES = [query.strip() for query in (Path(__file__).parent / "queries.sql").read_text().split(";") if query.strip()]
# Queries that mean something else in DuckDB, or that it does not take, with what they are there.
OTHERWISE = {
    "with recursive r(n, d) as (select k, 0 from u union all select y, 0 from v union all select x, d + 1 from r join "
    "u on k = n where d < 2 union all select k, d + 1 from r join u on x = n where d < 2) select * from r": (
        "with recursive r(n, d) as ((select k, 0 from u union all select y, 0 from v) union all (select x, d + 1 from "
        "r join u on k = n where d < 2 union all select k, d + 1 from r join u on x = n where d < 2)) select * from r"
    ),
    "select a, sum(b) as s from t group by grouping sets ((a), ())": (
        "select a, sum(b) as s from t group by grouping sets ((a), ()) having count(*) > 0"
    ),
    "select a, c, sum(b) as s from t group by a, c grouping sets ((a, c), (a))": (
        "select a, c, sum(b) as s from t group by grouping sets ((a, c), (a))"
    ),
    "select * from (select b, c from t) pivot (count(b) for c in ('a', 'b'))": (
        "select case when count(*) filter (c = 'a') > 0 then count(b) filter (c = 'a') end as a, "
        "case when count(*) filter (c = 'b') > 0 then count(b) filter (c = 'b') end as b from t"
    ),
    "select a, b, (a, b) not in (select k, x from u where x <> t.b) as m from t": (
        "select a, b, (select case when bool_or(t.a = k and t.b = x) then false "
        "when bool_or((t.a = k and t.b = x) is null) then null else true end from u where x <> t.b) as m from t"
    ),
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query(query):
    for seed in range(3):
        assert disagreement(query, SCHEMA, random.Random(seed)) == ""


@pytest.mark.parametrize("query", OTHERWISE)
def test_a_query_of_another_meaning_in_duckdb(query):
    for seed in range(3):
        assert disagreement(query, SCHEMA, random.Random(seed), translated=OTHERWISE[query]) == ""


ARRAYS = (Table("t", (Column("a", "BIGINT"), Column("c", "STRING"))),)
# In DuckDB a row without an array, or with an empty one, is left out in another way.
MADE = {
    "select a, x from t lateral view explode(split(c, 'a')) e as x": (
        "select a, unnest(string_split(c, 'a')) as x from t"
    ),
    "select a, p, x from t lateral view posexplode(split(c, 'a')) e as p, x": (
        "select a, unnest(range(len(l))) as p, unnest(l) as x from (select a, string_split(c, 'a') as l from t)"
    ),
    "select a, explode(split(c, 'a')) as x from t": "select a, unnest(string_split(c, 'a')) as x from t",
    "select a, u.x from t, lateral explode(split(c, 'a')) as u(x)": (
        "select a, unnest(string_split(c, 'a')) as x from t"
    ),
    "select a, x from t lateral view outer explode(split(c, 'a')) e as x": (
        "select a, unnest(coalesce(string_split(c, 'a'), [NULL])) as x from t"
    ),
    "select a, p, x from t lateral view outer posexplode(case when a > 1 then split(c, 'a') end) e as p, x": (
        "select a, unnest(coalesce(range(len(l)), [NULL])) as p, unnest(coalesce(l, [NULL])) as x "
        "from (select a, case when a > 1 then string_split(c, 'a') end as l from t)"
    ),
    "select s.*, a from (select a, named_struct('p', a, 'q', c) as s from t)": "select a as p, c as q, a from t",
    "select a from t distribute by c sort by a": "select a from t",
    "select a, sum(a) over w from t window w as (partition by c)": (
        "select a, sum(a) over (partition by c) as s from t"
    ),
    "select c, k, v from t lateral view stack(2, 1, a, 2) s as k, v": (
        "select c, 1 as k, a as v from t union all select c, 2, null from t"
    ),
    "select a, inline(array(named_struct('p', a, 'q', c), named_struct('p', 0, 'q', c))) from t": (
        "select a, a as p, c as q from t union all select a, 0, c from t"
    ),
    """select a, p, q from t lateral view json_tuple('{"x": "' || c || '", "y": [1, 2]}', 'x', 'y') j as p, q""": (
        "select a, c as p, case when c is not null then '[1,2]' end as q from t"
    ),
    """select a, json_tuple('{"x": ' || a || '}', 'x', 'z') from t""": (
        "select a, cast(a as varchar) as c0, null as c1 from t"
    ),
    "select * from (select c, a, a + 1 as b from t) unpivot ((p, q) for n in ((a, b) as ab, (b, a)))": (
        "select c, 'ab' as n, a as p, a + 1 as q from t where a is not null "
        "union all select c, 'b_a', a + 1, a from t where a is not null"
    ),
    "select c, extract(day from sum(a * interval 1 day)) as s, extract(day from avg(a * interval 2 days)) as m "
    "from t group by c": "select c, sum(a) as s, cast(trunc(2 * avg(a)) as int) as m from t group by c",
    "select (a, c) in ((1, 'a'), (2, 'b')) as n, struct(a, c) in (struct(1L, 'a'), struct(2L, 'b')) as m from t": (
        "select (a is not distinct from 1 and c is not distinct from 'a') "
        "or (a is not distinct from 2 and c is not distinct from 'b') as n, n from t"
    ),
    "select a, r.id from t join range(1, 6, 2) r on r.id > a": (
        "select a, r.range as id from t join range(1, 6, 2) r on r.range > a"
    ),
}


@pytest.mark.parametrize("query", MADE)
def test_rows_that_are_made(query):
    for seed in range(3):
        assert disagreement(query, ARRAYS, random.Random(seed), translated=MADE[query]) == ""


def test_texts_over_a_frame_stand_in_the_order_of_the_window():
    pipeline = Pipeline()
    pipeline.sql(
        "CREATE TABLE t (a INT, b INT, c STRING);"
        "CREATE VIEW v AS SELECT b, listagg(c, ',') OVER (PARTITION BY a ORDER BY b DESC) AS l, "
        "listagg(c, '') WITHIN GROUP (ORDER BY c) OVER (PARTITION BY a) AS w, "
        "collect_list(b) OVER (PARTITION BY a ORDER BY b) AS n FROM t"
    )
    pipeline.sql("INSERT INTO t VALUES (1, 1, 'x'), (1, 2, 'z'), (1, 3, 'y'), (1, 9, 'w')")
    pipeline.sql("DELETE FROM t WHERE b = 9")
    assert sorted(pipeline["v"]) == [(1, "y,z,x", "xyz", [1]), (2, "y,z", "xyz", [1, 2]), (3, "y", "xyz", [1, 2, 3])]


WRONG = {
    "select d from t": "there is no column d here",
    "select t.a from t, t": "t.a is ambiguous: it may be t.a",
    "select nope.t.a from t": "there is no column nope.t.a here",
    "select a from t order by -1 limit 2": "ORDER BY -1: the query has 1 column",
    "select a, count(*) as n from t group by -1": "GROUP BY -1: the query has 2 columns",
    "select distinct on (3) a, b from t": "DISTINCT ON 3: the query has 2 columns",
    "from t |> aggregate count(*) as n group by 4": "GROUP BY 4: the rows have 3 columns",
    "select a from t group by distinct rollup (a)": "GROUP BY DISTINCT is not supported",
    "select * from t pivot (sum(b) for c in ('a') group by a)": "GROUP BY in PIVOT is not supported",
    "select * from t pivot (sum(b) for a in (1, 2) c in ('a', 'b'))": "PIVOT of two lists is not supported",
    "select * from t order by a fetch first 2 rows with ties": "WITH TIES is not supported",
    "select * from t order by a fetch first 2 percent rows only": "PERCENT is not supported",
    "select a, lag(b) over (order by a rows unbounded preceding) as n from t": "lag takes no frame",
    "select collect_list(a) over (order by b, c desc) as l from t": "in an order that both rises and falls",
    "select a, lead(b) over (order by a rows between current row and 2 following) as n from t": "BETWEEN 1 FOLLOWING",
    "select * except (a, t.a) from t": "EXCEPT names a column twice",
    "select * except (b.x) from t": "there is no field x",
    "select collect_list(a) from (select * from t order by b)": "does not follow the order of a subquery",
    "select first(a) filter (where b > 1) from (select * from t order by a desc) x": "does not follow the order",
    "select a from t where c collate utf8_ai = 'x'": "there is no collation utf8_ai",
    "select cast(c as string collate utf8_ai) from t": "there is no collation utf8_ai",
    "select a, rank() over (order by a range unbounded preceding) as n from t": "rank takes no frame but ROWS",
    "select k from u, v": "k is ambiguous: it may be u.k or v.k",
    "select * from w": "there is no table or view w",
    "select a, count(*) from t": "a is neither in GROUP BY nor in an aggregate",
    "select a from t where count(*) > 1": "WHERE cannot have the aggregate count(*)",
    "select a from t where b": "WHERE takes a condition, and b is BIGINT",
    "select a, a from t": "two columns of the view are called a",
    "select a from t union select k, x from u": "UNION has 1 column on one side and 2 on the other",
    "select a from t where b = (select x, k from u)": "a scalar subquery has one column, and this one has 2",
    "select a from t where b > any (select x, k from u)": "one value is compared with a subquery of 2 columns",
    "select a from t where (a, b) in (select x from u)": "2 values cannot be sought in a subquery of 1 column",
    "select sum(sum(b)) as s from t": "the aggregate sum cannot stand here",
    "select a": "there is no column a here",
    "select a from t limit -1": "LIMIT takes a number that is not negative",
    "select * from t unpivot ((p, q) for n in (a))": "2 names of values, and 1 column for them",
    "select a from t limit b": "LIMIT takes a number that is not negative",
    "select a from t group by 2": "GROUP BY 2: the query has 1 column",
    "select z.* from t": "there is no relation z here",
    "with recursive r(k) as (select k from u union select k from v where k not in (select k from r)) select * from r": (
        "r depends on its own absence"
    ),
    "with recursive r as (select n from r union all select 1 as n) select * from r": "the first query of r reads r",
    "select a, rank() over (partition by b) as r from t": "needs an order",
    "select a, sum(b) over w as s from t": "there is no window w",
    "select a from t where rank() over (order by a) = 1": "WHERE cannot have a window function",
    "select explode(a) from t": "explode(a) takes an array or a map, and its argument is BIGINT",
    "select * from t asof join u on t.a = u.k": "the condition of an ASOF join compares both sides",
    "select * from t asof full join u on t.a >= u.k": "ASOF FULL JOIN is not supported",
    "select stack(a, 1) from t": "stack takes a number of rows above zero",
    "select inline(split(c, '')) from t": "takes an array of structs",
    "select a from t limit 50 percent": "PERCENT is not supported",
    "select a from t group by a with totals": "WITH TOTALS is not supported",
    "select a from t where a between symmetric 2 and 1": "BETWEEN SYMMETRIC is not supported",
    "select a from t version as of 1": "a version of a table is not supported",
    "with w as (select a from t), w as (select k from u) select * from w": "WITH defines w twice",
    "select a from t where (a, b) = (1, 2, 3)": "2 values are compared with 3",
    "select a from t tablesample (10 percent)": "TABLESAMPLE is not supported in a maintained view",
    "select a from (values (1, 2), (3)) as q(a, b)": "the rows of VALUES have 1 and 2 columns",
}


@pytest.mark.parametrize("query", WRONG)
def test_what_is_wrong_is_told_with_its_place(query):
    with pytest.raises(ProgramError) as caught:
        circuit_of(query, SCHEMA)
    assert WRONG[query] in str(caught.value)
    assert "^" in str(caught.value)


def test_order_by_all():
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (8, 3), (NULL, 1), (5, NULL), (5, 2)")
    pipeline.sql("CREATE VIEW first_ones AS SELECT b, a FROM t ORDER BY ALL DESC NULLS LAST LIMIT 2")
    assert list(pipeline.sql("SELECT * FROM t ORDER BY ALL")) == [(None, 1), (5, None), (5, 2), (8, 3)]
    assert list(pipeline.sql("SELECT DISTINCT a FROM t ORDER BY ALL DESC")) == [(8,), (5,), (None,)]
    assert list(pipeline.sql("SELECT a FROM t UNION SELECT b FROM t ORDER BY ALL LIMIT 3")) == [(None,), (1,), (2,)]
    assert sorted(pipeline["first_ones"]) == [(2, 5), (3, 8)]
    pipeline.sql("INSERT INTO t VALUES (9, 3)")
    assert sorted(pipeline["first_ones"]) == [(3, 8), (3, 9)]
