"""What Spark 4.3 refuses is refused, and its neighbours are answered as by Spark, which has run all of these."""

from __future__ import annotations

from typing import Any

import pytest

import deltic

PIPELINE = deltic.Pipeline()
PIPELINE.sql(
    """
    CREATE TABLE t (a INT, b STRING, m MAP<STRING, INT>);
    INSERT INTO t VALUES (1, 'x', map('k', 1)), (2, 'y', NULL), (3, NULL, map('k', 1));
    """
)

COLLATED = "(SELECT b COLLATE UTF8_LCASE AS x, b COLLATE UNICODE AS y, b FROM t)"
REFUSED = {
    f"SELECT x = b FROM {COLLATED}": "texts of UTF8_BINARY and UTF8_LCASE stand together",
    f"SELECT x = y FROM {COLLATED}": "texts of UNICODE and UTF8_LCASE stand together",
    f"SELECT x || b FROM {COLLATED}": "texts of UTF8_BINARY and UTF8_LCASE stand together",
    f"SELECT x = (SELECT 'a') FROM {COLLATED}": "stand together",
    f"SELECT x IN (SELECT b FROM t) FROM {COLLATED}": "IN compares texts in no such collation",
    f"SELECT * FROM {COLLATED} JOIN (SELECT b AS x FROM t) USING (x)": "compares texts of two collations",
    f"SELECT x FROM {COLLATED} UNION ALL SELECT 'a'": "column x has the collations UTF8_LCASE and UTF8_BINARY",
    f"SELECT y LIKE 'a' FROM {COLLATED}": "like: UTF8_LCASE is taken here",
    f"SELECT listagg(x, ',') FROM {COLLATED}": "its texts are compared by bytes",
    "SELECT 'a' COLLATE UTF8_BINARY = 'A' COLLATE UTF8_LCASE": "texts of UTF8_BINARY and UTF8_LCASE stand together",
    "SELECT a COLLATE UNICODE FROM t": "collate takes texts alone",
    "SELECT CAST(b AS STRING COLLATE FOO) FROM t": "there is no collation FOO",
    "SELECT a,, b FROM t": "1:10: `,` cannot stand here",
    "SELECT DISTINCT m FROM t": "1:17: DISTINCT compares values",
    "SELECT DISTINCT struct(m) FROM t": "maps have no order",
    "SELECT DISTINCT array(m) FROM t": "maps have no order",
    "SELECT a, b, grouping_id(b, a) FROM t GROUP BY ROLLUP (a, b)": "it takes all keys of GROUP BY in their order",
    "SELECT a FROM t QUALIFY a > 1": "1:25: QUALIFY takes a window function",
    "SELECT percentile_approx(a, 0.5, 0) FROM t": "the accuracy of approx_percentile is from 1 to 2147483647",
    "SELECT mode(a, b IS NULL) FROM t": "1:16: the second argument of mode is a constant of type BOOLEAN",
    "SELECT INTERVAL 1.5 DAYS": "this is not an interval",
    "SELECT from_json(a, 'x INT') FROM t": "from_json takes texts alone",
    "SELECT sort_array(array(a), 1) FROM t": "BOOLEAN is taken here",
    "SELECT m FROM t UNION SELECT m FROM t": "UNION, of column m, compares values",
    "SELECT m FROM t INTERSECT SELECT m FROM t": "INTERSECT, of column m, compares",
    "SELECT m FROM t EXCEPT SELECT m FROM t": "EXCEPT, of column m, compares",
    "SELECT m FROM t EXCEPT ALL SELECT m FROM t": "EXCEPT, of column m, compares",
    "SELECT * FROM t ORDER BY m": "ORDER BY compares values",
    "SELECT * FROM t ORDER BY m LIMIT 1": "ORDER BY compares values",
    "SELECT count(*) OVER (PARTITION BY m) FROM t": "PARTITION BY compares values",
    "SELECT * FROM t JOIN (SELECT m FROM t) USING (m)": r"USING \(m\) compares values",
    "SELECT m FROM t WHERE m IN (SELECT m FROM t)": "IN compares values",
    "VALUES (1), ('2')": "column 1 of VALUES has INT and STRING, which have no common type",
    "VALUES ('x'), (1)": "STRING and INT",
    "VALUES (1), (true)": "INT and BOOLEAN",
    "VALUES (1), (date'2024-01-01')": "INT and DATE",
    "VALUES ('2024-01-01'), (date'2024-01-01')": "STRING and DATE",
    "VALUES ('true'), (true)": "STRING and BOOLEAN",
    "SELECT * FROM VALUES ('a'), (X'41')": "STRING and BINARY",
    "SELECT * FROM VALUES (1.5), ('2')": "STRING",
    "INSERT INTO t (a) VALUES (1), ('2')": "INT and STRING",
    "SELECT": "1:1: `SELECT` cannot stand here; expected `an expression`",
    "SELECT * FROM (SELECT)": "1:22: `\\)` cannot stand here; expected `an expression`",
    "SELECT a, FROM t": "1:9: `,` cannot stand here",
    "SELECT a, b, FROM t WHERE a = 1": "1:12: `,` cannot stand here",
    "SELECT struct(1, 2,) FROM t": "`,` cannot stand here",
    "SELECT a FROM t GROUP BY a,": "`,` cannot stand here",
    "SELECT a FROM t ORDER BY a,": "`,` cannot stand here",
    "FROM t |> SELECT a, |> WHERE a > 1": "`,` cannot stand here",
    "SELECT INTERVAL 'P1Y'": "1:17: 'P1Y' is not an interval",
    "SELECT INTERVAL '1year'": "is not an interval",
    "SELECT 0x1F": "1:8: a number has decimal digits",
    "SELECT charindex('b', 'abc')": "there is no function charindex",
    "SELECT sort_array(array(b), '1') FROM t": "BOOLEAN is taken here",
    "SELECT array_position(array(NULL), NULL)": "NULL is in no array",
    "SELECT * FROM range(1, NULL)": "1:24: range takes numbers, and NULL has no type",
    "SELECT CASE WHEN NULL THEN 1 ELSE 2 END": "1:18: WHEN takes a condition",
    "SELECT approx_count_distinct(a, 0.4) FROM t": "at most 0.39",
    "FROM t |> AGGREGATE b GROUP BY b": "1:21: b in AGGREGATE has no aggregate",
    "SELECT array(1) = array('1')": r"is not defined for ARRAY<INT>, ARRAY<STRING>",
    "SELECT struct(1, 'a') <=> struct(1, date'2024-01-01')": "is not defined for",
    "SELECT n FROM t UNPIVOT (v FOR n IN (a, b))": "UNPIVOT of texts and other values",
    "SELECT a FROM t WHERE NULL": "1:23: WHERE takes a condition, and NULL has no type",
    "SELECT a FROM t WHERE (NULL)": "1:24: WHERE takes a condition",
    "SELECT a FROM t WHERE 'true'": "WHERE takes a condition",
    "SELECT * FROM t JOIN t u ON NULL": "ON takes a condition, and NULL has no type",
    "SELECT count(*) FILTER (WHERE NULL) FROM t": "FILTER takes a condition, not NULL",
    "SELECT a, z FROM t RIGHT JOIN LATERAL (SELECT a + 1 AS z) ON true": "RIGHT JOIN LATERAL has no meaning",
    "SELECT a, z FROM t FULL JOIN LATERAL (SELECT 1 AS z) ON true": "FULL JOIN LATERAL has no meaning",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_spark_refuses(text: str) -> None:
    with pytest.raises(deltic.ProgramError, match=REFUSED[text]):
        PIPELINE.sql(text)


_XS = "(SELECT a, array(a) AS xs FROM t WHERE a = 1 UNION ALL SELECT 9, CAST(array() AS ARRAY<INT>))"
ANSWERED: dict[str, list[Any]] = {
    "SELECT m, count(*) FROM t GROUP BY m HAVING m['k'] = 1": [([("k", 1)], 2)],
    "SELECT count(DISTINCT m) FROM t": [(1,)],
    "SELECT count(*) FROM t GROUP BY struct(m) HAVING count(*) = 2": [(2,)],
    "SELECT count(*) FROM (SELECT m FROM t UNION ALL SELECT m FROM t)": [(6,)],
    "SELECT typeof(col1) FROM VALUES (1), (2.5) LIMIT 1": [("decimal(11,1)",)],
    "SELECT typeof(col1) FROM VALUES (1), (2.5D) LIMIT 1": [("double",)],
    "SELECT typeof(col1) FROM VALUES (date'2024-01-01'), (timestamp'2024-01-01 00:00:00') LIMIT 1": [("timestamp",)],
    "SELECT typeof(col1) FROM VALUES (NULL), ('2') LIMIT 1": [("string",)],
    "SELECT typeof(c) FROM (SELECT 1 AS c UNION ALL SELECT '2') LIMIT 1": [("bigint",)],
    "SELECT count(*) FROM t HAVING NULL": [],
    "SELECT a FROM t WHERE NULL AND a = 1": [],
    "SELECT a FROM t WHERE NOT NULL": [],
    f"SELECT a, x FROM {_XS} LEFT JOIN LATERAL explode(xs) AS e(x)": [(1, 1)],
    f"SELECT a, x FROM {_XS} LEFT JOIN LATERAL explode(xs) AS e(x) ON true": [(1, 1), (9, None)],
    "SELECT struct(a, count(*), a + 1, max(b) AS m).col2 FROM t GROUP BY a": [(1,), (1,), (1,)],
    "SELECT to_json(struct(a, (SELECT max(a) FROM t), rank() OVER (ORDER BY a))) FROM t WHERE a = 2": [
        ('{"a":2,"col2":3,"col3":1}',)
    ],
    "SELECT typeof(struct(m['k'], (a, 1).a, a + 1)) FROM t LIMIT 1": [("struct<k:int,a:int,col3:int>",)],
    "SELECT to_json((max(a), min(a))) FROM t": [('{"col1":3,"col2":1}',)],
    "SELECT array_agg(map('b', a, 'a', 0)) FROM t GROUP BY a HAVING a < 3": [
        ([[("b", 1), ("a", 0)]],),
        ([[("b", 2), ("a", 0)]],),
    ],
    "SELECT collect_list(map('x', map('y', a))) FROM t WHERE a = 1": [([[("x", [("y", 1)])]],)],
    "SELECT max_by(m, a)['k'], size(array_agg(m)), first(m)['k'], size(array_agg(DISTINCT m)) FROM t": [(1, 2, 1, 1)],
    "SELECT a, size(collect_list(m) OVER (ORDER BY a)) FROM t": [(1, 1), (2, 1), (3, 2)],
    "SELECT a, max_by(b, b, 2) OVER (ORDER BY a) FROM t": [(1, ["x"]), (2, ["y", "x"]), (3, ["y", "x"])],
    "SELECT typeof(-NULL), typeof(abs(NULL)), typeof(round(NULL, 2)), typeof(ceil(NULL, 2)), typeof(floor(NULL, -1))": [
        ("double", "double", "double", "decimal(23,2)", "decimal(21,0)")
    ],
    "SELECT k, x FROM t LATERAL VIEW OUTER explode(m) AS k, x": [("k", 1), (None, None), ("k", 1)],
    "SELECT explode(array(1, 2)), explode(array(a, 5)) FROM t WHERE a = 1": [(1, 1), (1, 5), (2, 1), (2, 5)],
    f"SELECT a, x FROM {_XS} LEFT JOIN LATERAL explode(xs) AS e(x) ON x > 5": [(1, None), (9, None)],
    f"SELECT a, x FROM {_XS} LEFT JOIN LATERAL (SELECT a + 1 AS x WHERE a > 5)": [(1, None), (9, 10)],
    "SELECT a, z FROM t LEFT JOIN LATERAL (SELECT a + 1 AS z WHERE a > 1) ON true": [(1, None), (2, 3), (3, 4)],
    "SELECT a, v FROM t LATERAL VIEW OUTER explode(m) e AS k, v": [(1, 1), (2, None), (3, 1)],
    "SELECT a, p FROM t LATERAL VIEW OUTER posexplode(map_values(m)) e AS p, v": [(1, 0), (2, None), (3, 0)],
    "SELECT a, v FROM t LATERAL VIEW OUTER explode(map_values(m)) e AS v WHERE v IS NULL": [(2, None)],
    "SELECT a, v FROM t, LATERAL explode_outer(map_values(m)) AS e(v)": [(1, 1), (2, None), (3, 1)],
    "SELECT length(format_number(DOUBLE(a), 400)), length(format_number(a * 1.0BD, 400)) FROM t WHERE a = 1": [
        (342, 402),
    ],
    "SELECT a, x FROM t LEFT JOIN LATERAL inline(array(struct(a, b))) AS e(x, y) ON x = 2": [
        *[(1, None), (2, 2), (3, None)],
    ],
    "SELECT a, x FROM t LEFT JOIN LATERAL stack(2, a, b, a, b) AS e(x, y) ON x = 2": [
        *[(1, None), (2, 2), (2, 2), (3, None)],
    ],
}


@pytest.mark.parametrize("text", ANSWERED)
def test_what_spark_answers(text: str) -> None:
    assert sorted(map(tuple, PIPELINE.query(text)), key=str) == sorted(ANSWERED[text], key=str)
