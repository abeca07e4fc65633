"""Variables, settings and EXECUTE IMMEDIATE: the answers are those of Spark 4.3, which has run the same statements."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

import deltic

TABLE = """
CREATE TABLE t (a INT, b STRING);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL);
"""


@pytest.fixture
def pipeline() -> deltic.Pipeline:
    result = deltic.Pipeline()
    result.sql(TABLE)
    return result


def rows(pipeline: deltic.Pipeline, text: str, args: Any = None) -> list[tuple[Any, ...]]:
    answer = pipeline.sql(text, args)
    assert isinstance(answer, deltic.Rows)
    return [tuple(row) for row in answer]


SPARK = [
    ("DECLARE x INT DEFAULT 5; SELECT x, session.x, system.session.x, typeof(x)", [(5, 5, 5, "int")]),
    ("DECLARE VARIABLE y = 1 + 1; SELECT y, typeof(y)", [(2, "int")]),
    ("DECLARE z STRING; SELECT z", [(None,)]),
    ("DECLARE OR REPLACE dd DATE DEFAULT '2024-01-01'; SELECT dd", [(dt.date(2024, 1, 1),)]),
    ("DECLARE VARIABLE d1, d2 INT DEFAULT 3; SELECT d1 + d2", [(6,)]),
    ("DECLARE x INT = 6; SET VARIABLE x = '12'; SELECT x", [(12,)]),
    ("DECLARE x INT = 6; SET VAR x = 1.7; SELECT x", [(1,)]),
    ("DECLARE x INT = 6; SET VAR x = 9; SET VAR x = DEFAULT; SELECT x", [(6,)]),
    ("DECLARE x INT = 6; SET VAR x = NULL; SELECT x", [(None,)]),
    ("DECLARE x INT; DECLARE y INT; SET VAR x = 1, y = x + 7; SELECT x, y", [(1, 8)]),
    ("DECLARE x, y INT; SET VAR (x, y) = (SELECT 3, 4); SELECT x, y", [(3, 4)]),
    ("DECLARE x, y INT = 1; SET VAR (x, y) = (SELECT 3, 4 WHERE false); SELECT x, y", [(None, None)]),
    ("DECLARE x INT; SET VAR x = (SELECT max(a) FROM t); SELECT a FROM t WHERE a = x", [(3,)]),
    ("DECLARE x INT = 3; SELECT a, (SELECT a AS x) AS k FROM t WHERE a >= x", [(3, 3)]),
    ("DECLARE x INT = 3; SELECT a AS x, x + 1 FROM t", [(1, 2), (2, 3), (3, 4)]),
    ("DECLARE x INT = 3; SELECT count(*) FROM t GROUP BY x", [(3,)]),
    ("DECLARE x INT = 2; SELECT a FROM t ORDER BY a LIMIT x", [(1,), (2,)]),
    ("DECLARE x INT = 2; SELECT x, count(*) FROM t GROUP BY ROLLUP(x)", [(2, 3), (None, 3)]),
    ("DECLARE x INT = 2; SELECT a, x + count(*) FROM t WHERE a < x GROUP BY a", [(1, 3)]),
    (
        "DECLARE x INT = 2; SELECT ntile(x) OVER (ORDER BY a), lag(a, x) OVER (ORDER BY a) FROM t WHERE a = 1",
        [(1, None)],
    ),
    ("DECLARE x INT = 3; SELECT sum(a) + x FROM t HAVING sum(a) > x", [(9,)]),
    ("DECLARE a INT = 77; SELECT a FROM t WHERE a = 1", [(1,)]),
    ("DECLARE a INT = 77; SELECT session.a FROM t LIMIT 1", [(77,)]),
    ("DECLARE st = named_struct('f', 5); SELECT st.f", [(5,)]),
    ("DECLARE n2 DECIMAL(4,2) = 12.345; SELECT n2", [(Decimal("12.35"),)]),
    ("DECLARE s4 = 't'; SELECT a FROM IDENTIFIER(s4) WHERE a < 2", [(1,)]),
    ("DECLARE x INT = 4; INSERT INTO t VALUES (x, 'z'); SELECT a, b FROM t WHERE a > 3", [(4, "z")]),
    ("EXECUTE IMMEDIATE 'SELECT a FROM t WHERE a > ?' USING 2", [(3,)]),
    ("EXECUTE IMMEDIATE 'SELECT a FROM t WHERE a > :p' USING 2 AS p", [(3,)]),
    ("DECLARE y INT = 2; EXECUTE IMMEDIATE 'SELECT a FROM t WHERE a > :y' USING (y)", [(3,)]),
    ("DECLARE y INT; EXECUTE IMMEDIATE 'SELECT max(a) FROM t' INTO y; SELECT y", [(3,)]),
    ("DECLARE y INT = 1; EXECUTE IMMEDIATE 'SELECT a FROM t WHERE false' INTO y; SELECT y", [(None,)]),
    ("DECLARE s = 'SELECT 42'; EXECUTE IMMEDIATE s", [(42,)]),
    ("EXECUTE IMMEDIATE 'SELECT ' || '43'", [(43,)]),
    ("EXECUTE IMMEDIATE 'INSERT INTO t VALUES (?, ?)' USING 9, 'n'; SELECT b FROM t WHERE a = 9", [("n",)]),
    ("DECLARE y INT; EXECUTE IMMEDIATE 'SET VAR y = 8'; SELECT y", [(8,)]),
    ("EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''SELECT 1'''", [(1,)]),
    ("SET spark.sql.ansi.enabled", [("spark.sql.ansi.enabled", "true")]),
    ("SET spark.sql.ansi.enabled = true", [("spark.sql.ansi.enabled", "true")]),
    ("SET TIME ZONE 'UTC'", [("spark.sql.session.timeZone", "UTC")]),
]


@pytest.mark.parametrize(("text", "answer"), SPARK, ids=[text for text, _ in SPARK])
def test_answers_are_those_of_spark(pipeline: deltic.Pipeline, text: str, answer: list[Any]) -> None:
    assert sorted(rows(pipeline, text), key=str) == sorted(answer, key=str)


REFUSED = [
    ("DECLARE x INT = 5; DECLARE x INT = 5", "there is a variable x already"),
    ("DECLARE w", "a variable has a type or a default"),
    ("DECLARE q1 = (SELECT max(a) FROM t)", "a default has no subquery"),
    ("DECLARE x INT; SET VAR x = 'abc'", "the value is no INT"),
    ("DECLARE x, y INT; SET VAR (x, y) = (SELECT a, a FROM t)", "the query has 3 rows, and variables take one"),
    ("DECLARE x, y INT; SET VAR (x, y) = (SELECT 3)", "2 variables for 1 column"),
    ("DECLARE x INT; SET VAR (x, x) = (SELECT 3, 4)", "a variable is assigned twice"),
    ("SET VAR nope = 1", "there is no variable nope"),
    ("DECLARE x INT; SET x = 5", "write SET VAR x"),
    ("DECLARE x INT; CREATE VIEW vx AS SELECT a FROM t WHERE a = x", "x is a variable of this session, and a view"),
    ("DECLARE x INT; DROP TEMPORARY VARIABLE x; SELECT x", "there is no column x"),
    ("DROP TEMPORARY VARIABLE x", "there is no variable x"),
    ("DROP VARIABLE y", "expected TEMPORARY VARIABLE"),
    ("DECLARE foo.yy INT DEFAULT 3", "variables are in `session`, not foo"),
    ("DECLARE y = 1; CREATE FUNCTION fx() RETURNS INT RETURN SELECT y", "y is a variable of this session"),
    ("DECLARE n3 TINYINT = 300", "the value is no TINYINT"),
    ("DECLARE y INT; EXECUTE IMMEDIATE 'SELECT a FROM t' INTO y", "the query has 3 rows"),
    ("DECLARE y INT; EXECUTE IMMEDIATE 'SELECT 1, 2' INTO y", "1 variable for 2 columns"),
    ("DECLARE y INT; EXECUTE IMMEDIATE 'INSERT INTO t VALUES (9, NULL)' INTO y", "INTO takes the row of a query"),
    ("EXECUTE IMMEDIATE NULL", "the text of one statement"),
    ("EXECUTE IMMEDIATE 'SELECT 1; SELECT 2'", "the text of one statement"),
    ("EXECUTE IMMEDIATE 'SELECT ?'", "the parameter has no value"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_spark_refuses_is_refused(pipeline: deltic.Pipeline, text: str, message: str) -> None:
    with pytest.raises(deltic.DelticError, match=message.replace("(", r"\(")):
        pipeline.sql(text)
    assert rows(pipeline, "SELECT count(*) FROM t") == [(3,)]


def test_a_text_that_executes_itself_ends(pipeline: deltic.Pipeline) -> None:
    with pytest.raises(deltic.ProgramError, match="a text executes itself"):
        pipeline.sql("DECLARE s = 'EXECUTE IMMEDIATE s'; EXECUTE IMMEDIATE s")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET TIME ZONE 'Europe/Berlin'", "timeZone is UTC here, and cannot be Europe/Berlin"),
        ("SET spark.sql.ansi.enabled = false", "is true here, and cannot be false"),
        ("SET spark.nope = 1", "there is no setting spark.nope here"),
    ],
)
def test_settings_that_would_change_answers_are_refused(text: str, message: str) -> None:
    with pytest.raises(deltic.ProgramError, match=message):
        deltic.Pipeline().sql(text)


def test_settings_of_speed_are_accepted(pipeline: deltic.Pipeline) -> None:
    pipeline.sql("SET spark.sql.shuffle.partitions = 8; SET spark.sql.adaptive.enabled = true; RESET")


CONSTANTS = [
    "array(1, NULL)",
    "array()",
    "map('a', 1)",
    "named_struct('f', 1, 'g', array('h'))",
    "timestamp'2024-01-01 10:00:00'",
    "timestamp_ntz'2024-01-01 10:00:00.5'",
    "INTERVAL '1 02:03:04' DAY TO SECOND",
    "INTERVAL '1-2' YEAR TO MONTH",
    "X'41FF'",
    "float('nan')",
    "1e300",
    "-12.50",
    "true",
    "'it''s'",
    "CAST(NULL AS DATE)",
]


@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_variable_is_what_its_constant_is(constant: str) -> None:
    pipeline = deltic.Pipeline()
    direct = pipeline.query(f"SELECT {constant} AS x, typeof({constant}) AS kind").to_arrow()
    pipeline.sql(f"DECLARE x = {constant}")
    through = pipeline.query("SELECT x, typeof(x) AS kind").to_arrow()
    assert str(through.to_pylist()) == str(direct.to_pylist())
    assert through.schema.types == direct.schema.types


def test_variables_stand_in_changes_joins_groups_and_lambdas(pipeline: deltic.Pipeline) -> None:
    pipeline.sql("DECLARE x INT = 2; DECLARE s = 'q'")
    assert rows(pipeline, "SELECT t.a, u.a FROM t JOIN t u ON t.a = u.a AND t.a < x") == [(1, 1)]
    assert rows(pipeline, "SELECT transform(array(1), e -> e + x), max(x) + x FROM t") == [([3], 4)]
    assert rows(pipeline, "FROM t |> WHERE a > x |> SELECT a + x") == [(5,)]
    assert rows(pipeline, "VALUES (x, s)") == [(2, "q")]
    assert [tuple(row) for row in pipeline.query("SELECT x")] == [(2,)]
    pipeline.execute("UPDATE t SET b = s WHERE a = x")
    assert rows(pipeline, "SELECT b FROM t WHERE a = x") == [("q",)]
    pipeline.sql("CREATE TABLE k (a INT PRIMARY KEY, b STRING); INSERT INTO k VALUES (1, 'a')")
    pipeline.sql("INSERT INTO k VALUES (1, 'b') ON CONFLICT (a) DO UPDATE SET b = s")
    assert rows(pipeline, "SELECT * FROM k") == [(1, "q")]


def test_a_kept_plan_has_the_value_of_now(pipeline: deltic.Pipeline) -> None:
    for value in (1, 2):
        pipeline.sql(f"DECLARE OR REPLACE x INT = {value}")
        assert rows(pipeline, "SELECT a FROM t WHERE a = x") == [(value,)]
    pipeline.sql("DROP TEMPORARY VARIABLE x")
    with pytest.raises(deltic.ProgramError, match="no column x"):
        pipeline.query("SELECT a FROM t WHERE a = x")


def test_a_failed_assignment_changes_none_of_its_variables(pipeline: deltic.Pipeline) -> None:
    pipeline.sql("DECLARE x, y INT = 1")
    with pytest.raises(deltic.DelticError):
        pipeline.sql("SET VAR x = 2, y = 'abc'")
    assert rows(pipeline, "SELECT x, y") == [(1, 1)]


def test_parameters_are_counted_over_statements_of_the_session(pipeline: deltic.Pipeline) -> None:
    text = "DECLARE x INT = ?; INSERT INTO t VALUES (?, 'n'); SELECT a FROM t WHERE a > x AND b = ?"
    assert rows(pipeline, text, [3, 8, "n"]) == [(8,)]
    assert rows(pipeline, "SET VAR x = :v; SELECT x + :w", {"v": 1, "w": 2}) == [(3,)]


def test_definitions_between_statements_of_the_session_are_one_epoch(pipeline: deltic.Pipeline) -> None:
    results = list(pipeline.sql_results("DECLARE x = 5; CREATE TABLE z (a INT); CREATE VIEW y AS SELECT a FROM z"))
    assert len(results) == 2
    assert str(results[1]) == "added z, y; kept t"


def test_places_in_errors_are_those_of_the_whole_text(pipeline: deltic.Pipeline) -> None:
    with pytest.raises(deltic.ProgramError, match="<sql>:3:10: there is no variable y"):
        pipeline.sql("DECLARE x INT;\nSET VAR x = 1;\n SET VAR y = 2")
    with pytest.raises(deltic.ProgramError, match="<sql>:2:8: there is no column nope"):
        pipeline.sql("DECLARE OR REPLACE x INT;\nSELECT nope FROM t")


def test_a_query_of_a_transaction_s_rows_is_assigned(pipeline: deltic.Pipeline) -> None:
    pipeline.sql("DECLARE x INT; BEGIN; INSERT INTO t VALUES (100, NULL); SET VAR x = (SELECT max(a) FROM t); ROLLBACK")
    assert rows(pipeline, "SELECT x, max(a) FROM t") == [(100, 3)]


def test_a_shared_pipeline_has_no_variables(pipeline: deltic.Pipeline) -> None:
    with pytest.raises(deltic.ProgramError, match="belong to a session, and this is shared by many"):
        pipeline.planned_sql("DECLARE x INT = 1")


def test_names_are_written_as_texts(pipeline: deltic.Pipeline) -> None:
    pipeline.sql("CREATE VIEW IDENTIFIER('q' || 'x') AS SELECT a FROM t; DECLARE n = 't'")
    assert rows(pipeline, "SELECT count(*) FROM qx") == [(3,)]
    assert str(pipeline.sql("SHOW CREATE TABLE qx")) == "CREATE VIEW `qx` AS SELECT a FROM t"
    with pytest.raises(deltic.ProgramError, match="1:43: n is a variable of this session"):
        pipeline.sql("CREATE VIEW w AS SELECT a FROM IDENTIFIER(n)")


@pytest.mark.parametrize(
    "text",
    [
        "SET VAR",
        "SET VAR x = 1,",
        "SET VAR ,",
        "SET VAR (x, y) =",
        "SET VAR () = (SELECT 1)",
        "SET TIME ZONE",
        "DECLARE",
        "DECLARE OR REPLACE",
        "DECLARE x, = 1",
        "EXECUTE",
        "EXECUTE IMMEDIATE",
        "EXECUTE IMMEDIATE INTO x",
        "EXECUTE IMMEDIATE 'SELECT 1' INTO",
        "EXECUTE IMMEDIATE 'SELECT 1' USING",
        "EXECUTE IMMEDIATE 'SELECT 1' USING 1,",
        "DROP TEMPORARY VARIABLE",
        "CREATE TABLE c AS",
        "INSERT INTO t VALUES (1, 'a') ON CONFLICT",
        "USE",
        "SHOW TABLES LIKE",
        "DESCRIBE",
        "DESCRIBE QUERY",
        "COMMENT ON COLUMN",
        "SELECT IDENTIFIER(",
    ],
)
def test_half_a_statement_has_an_error_with_a_place(pipeline: deltic.Pipeline, text: str) -> None:
    with pytest.raises(deltic.ProgramError, match="<sql>:1:"):
        pipeline.sql(text)
