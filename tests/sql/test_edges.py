"""Statements at the edges: a right answer or an error with a place, never an exception of a library.

Catches what a library raises on no rows, on values past what memory or a type holds, and on text that is none.
"""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from deltic import Pipeline
from deltic.errors import DelticError

ANSWERED = {
    "SELECT a / 0 AS x FROM t WHERE a = 99": [],
    "SELECT * FROM (VALUES (1), (2) JOIN t ON col1 = a)": [],
    "SELECT element_at(array(i), 1) AS i FROM VALUES (INTERVAL '1' DAY) v (i)": [(timedelta(days=1),)],
    "SELECT string(i) AS i FROM (SELECT max(i) AS i FROM VALUES (INTERVAL '1' DAY), (NULL) v (i))": [
        ("INTERVAL '1' DAY",)
    ],
    "SELECT bitmap_count(X 'FF01') AS n": [(9,)],
    "SELECT make_dt_interval(0, 'x') AS i FROM t": [],
    "SELECT xor, values, 1 AS limit FROM (SELECT 2 AS xor, 3 AS values) AS q WHERE values = 3": [(2, 3, 1)],
    "SELECT x.col1 AS n FROM (VALUES (1), (2), (3)) TABLESAMPLE (2 ROWS) AS x": [(1,), (2,)],
    "SELECT count(*) AS n FROM (VALUES (1), (2), (3)) TABLESAMPLE (0 PERCENT)": [(0,)],
    "SELECT a FROM t ORDER BY a": [],
    "SELECT a FROM t WHERE a > 3 ORDER BY a DESC LIMIT 3": [],
    "SELECT CAST(x AS STRING) AS x FROM VALUES (INTERVAL 1 MONTH), (INTERVAL '1-2' YEAR TO MONTH) v (x)": [
        ("INTERVAL '0-1' YEAR TO MONTH",),
        ("INTERVAL '1-2' YEAR TO MONTH",),
    ],
    "SELECT map_keys(map_concat(map(1, 'a'), map(2L, 'b'))) AS k": [([1, 2],)],
    "SELECT CAST(TRY_CAST(x AS DECIMAL(38, 20)) AS BIGINT) AS x FROM VALUES (5), (-7) v (x)": [(-7,), (5,)],
}
REFUSED = {
    "SELECT FROM t": "expected `an expression`",
    "SELECT a FROM t WHERE EXISTS (SELECT FROM t)": "expected `an expression`",
    "INSERT INTO t PARTITION (a = 4) SELECT 4, 's'": ":1:26: INSERT … PARTITION is not supported",
    "SELECT map_concat(map(1, 'a'), map('x', 'b'))": "the value is no MAP<BIGINT, STRING>",
    "SELECT json_tuple()": "json_tuple takes a text and the names of fields",
    "SELECT ceil(2.5, 0, 0)": "ceil does not take 3 arguments",
    "SELECT '\ud800'": ":1:9: half of a character, which no text in UTF-8 has",
    f"SELECT {'1' * 5000}": "has more than 38 digits",
    f"SELECT 1.{'1' * 5000}": "has more than 38 digits",
    f"SELECT {'1' * 5000}L": "is no BIGINT",
    f"SELECT 1e{'1' * 5000}": "is beyond the range of a DOUBLE",
    "SELECT size(sequence(1, 100000000000))": "in at most 10,000,000 elements",
    "SELECT size(sequence(DATE '2020-01-01', TIMESTAMP '9020-01-01', INTERVAL 1 SECOND))": "in at most 10,000,000",
    "SELECT size(array_repeat(1, 2147483647))": "it makes at most 10,000,000 elements",
    "SELECT length(repeat('abc', 2147483647))": "it makes at most 10,000,000 elements, and 100,000,000 letters",
    "SELECT length(space(2147483647))": "100,000,000 letters",
    "SELECT length(lpad('a', 2147483647, 'b'))": "100,000,000 letters",
    "SELECT CAST(i AS INT) FROM spans": "write extract(DAY FROM i)",
    "SELECT from_json(s, 'a INT', map('none', 'true')) FROM t": "there is no option none here",
    "SELECT * FROM range(0, 5, 0)": ":1:15: the step of range is not 0",
    "SELECT INTERVAL 9999999999 HOURS": ":1:1: this interval is too long",
    "SELECT INTERVAL 178956971 YEARS": ":1:1: this interval is too long",
    "SELECT CAST(1 AS DECIMAL(a))": "DECIMAL takes the number of digits",
    "SELECT a FROM t WHERE INTERVAL 1 MONTH": "<sql>:1:",
    "SELECT IF(current_date(), FALSE)": "<sql>:1:",
    "SELECT * FROM t TABLESAMPLE (5 PERCENT)": ":1:15: TABLESAMPLE is not supported",
    "SELECT CAST('10000-01-01' AS DATE)": "the value is no DATE of the years 1 to 9999",
    "SELECT from_csv(s, 'a INT', map('mode', 'DROPMALFORMED')) FROM t": ":1:8:",
    "CREATE TABLE x (u DATETIME)": ":1:19: there is no type DATETIME",
}


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    made = Pipeline()
    made.sql("CREATE TABLE t (a INT, s STRING); CREATE TABLE spans (i INTERVAL DAY TO SECOND)")
    return made


@pytest.mark.parametrize("query", ANSWERED)
def test_a_query_at_an_edge_has_its_answer(pipeline: Pipeline, query: str) -> None:
    assert sorted(tuple(row) for row in pipeline.sql(query)) == ANSWERED[query]


@pytest.mark.parametrize("statement", REFUSED)
def test_what_has_no_answer_is_refused_with_a_reason(pipeline: Pipeline, statement: str) -> None:
    with pytest.raises(DelticError) as refused:
        pipeline.sql(statement)
    assert REFUSED[statement] in str(refused.value)


def test_variants_and_calendar_intervals_in_a_maintained_view() -> None:
    pipeline = Pipeline()
    pipeline.sql("CREATE TABLE t (id INT, n INT, d DATE, e DATE, j STRING)")
    pipeline.sql(
        "CREATE VIEW v AS SELECT id, d + make_interval(0, n, 0, 1) AS a, d + (d - e) AS b, "
        "try_variant_get(parse_json(j), '$.a[0]', 'INT') AS c, is_variant_null(parse_json(j)) AS f FROM t"
    )
    one, two = (1, 1, date(2024, 1, 31), date(2024, 1, 30), '{"a":["7"]}'), (2, None, None, None, "null")
    with pipeline.transaction() as change:
        change.insert("t", [one, two])
    seven = (1, date(2024, 3, 1), date(2024, 2, 1), 7, False)
    assert set(pipeline["v"].rows()) == {seven, (2, None, None, None, True)}
    with pytest.raises(DelticError):
        pipeline.sql("INSERT INTO t VALUES (3, 1, NULL, NULL, '{')")
    with pipeline.transaction() as change:
        change.delete("t", [two])
    assert set(pipeline["v"].rows()) == {seven}
