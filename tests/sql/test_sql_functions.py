"""Functions of SQL: a call is its body, with the parameters' values in the place of their names.

Catches a name of the body that means something of the query around the call, or the other way round; arguments that are
mixed up; views that do not follow the tables, or the functions, that a function reads.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from deltic import Pipeline
from deltic.errors import ProgramError

TABLES = "CREATE TABLE t (k INT, v INT); CREATE TABLE s (k INT, w STRING);"
FUNCTIONS = """
    CREATE FUNCTION twice(x INT, y INT DEFAULT 1) RETURNS INT DETERMINISTIC COMMENT 'c' RETURN x * 2 + y;
    CREATE FUNCTION names(k INT) RETURNS BIGINT RETURN SELECT count(*) FROM s WHERE s.k = names.k;
    CREATE TEMPORARY FUNCTION both(a INT) RETURN names(twice(a, y => -a)) + 100;
    CREATE FUNCTION of_key(key INT) RETURNS TABLE (n INT, letter STRING) RETURN SELECT k, w FROM s WHERE s.k = key;
"""
# A view that calls functions, and the same written out.
PAIRS = {
    "SELECT k, twice(v) AS a, twice(y => 3, x => v) AS b FROM t": "SELECT k, v * 2 + 1 AS a, v * 2 + 3 AS b FROM t",
    "SELECT k, names(k) AS n FROM t WHERE names(v) < 2": (
        "SELECT k, (SELECT count(*) FROM s WHERE s.k = t.k) AS n FROM t "
        "WHERE (SELECT count(*) FROM s WHERE s.k = t.v) < 2"
    ),
    "SELECT v, both(k) AS n FROM t": "SELECT v, (SELECT count(*) FROM s WHERE s.k = t.k) + 100 AS n FROM t",
    "SELECT t.v, f.* FROM t, LATERAL of_key(t.k) f": "SELECT v, s.k AS n, w AS letter FROM t JOIN s ON t.k = s.k",
    "SELECT * FROM of_key(twice(0)) AS x (a, b)": "SELECT k AS a, w AS b FROM s WHERE k = 1",
    "SELECT v, names(max(k)) AS n, sum(names(k)) AS m FROM t GROUP BY v": (
        "SELECT v, (SELECT count(*) FROM s WHERE s.k = g.k) AS n, m FROM (SELECT v, max(k) AS k, sum(c) AS m FROM "
        "(SELECT v, k, (SELECT count(*) FROM s WHERE s.k = t.k) AS c FROM t) GROUP BY v) g"
    ),
    "WITH s AS (SELECT 1 AS k) SELECT k, names(k) AS n, (SELECT names(max(v)) FROM t WHERE t.k = s.k) AS m FROM s": (
        "SELECT 1 AS k, (SELECT count(*) FROM s WHERE k = 1) AS n, (SELECT count(*) FROM s WHERE s.k = "
        "(SELECT max(v) FROM t WHERE t.k = 1)) AS m"
    ),
    "SELECT k, twice(v / 2) AS a FROM t": "SELECT k, CAST(v / 2 AS INT) * 2 + 1 AS a FROM t",
    "SELECT transform(array(1, v), x -> twice(x, k)) AS a FROM t": "SELECT array(2 + k, v * 2 + k) AS a FROM t",
}


def test_a_call_is_its_body(tmp_path: Path) -> None:
    rng, pipeline = random.Random(1), Pipeline(state=tmp_path)
    views = [
        f"CREATE VIEW c{i} AS {call}; CREATE VIEW w{i} AS {written};" for i, (call, written) in enumerate(PAIRS.items())
    ]
    pipeline.sql(TABLES + FUNCTIONS + "".join(views))
    for number in range(4):
        values = ", ".join(f"({rng.choice(['NULL', 0, 1, 2])}, {rng.choice(['NULL', 0, 1, 2])})" for _ in range(4))
        pipeline.sql(f"INSERT INTO t VALUES {values}; INSERT INTO s VALUES ({rng.randrange(3)}, 'x{number}')")
        if number == 1:
            pipeline.sql(
                "DELETE FROM t WHERE twice(v) = 3;"
                "CREATE OR REPLACE FUNCTION twice(x INT, y INT DEFAULT 1) RETURN x + x + y"
            )
        if number == 2:
            pipeline.close()
            pipeline = Pipeline(state=tmp_path)
        for i, call in enumerate(PAIRS):
            assert Counter(map(repr, pipeline[f"c{i}"])) == Counter(map(repr, pipeline[f"w{i}"])), call
            assert pipeline.views[f"c{i}"].names == pipeline.views[f"w{i}"].names


REFUSED = {
    "DROP FUNCTION names": "both call",
    "DROP FUNCTION zz": "there is no function of SQL zz",
    "CREATE FUNCTION f(x INT) RETURNS INT RETURN f(x)": "f calls itself",
    "CREATE OR REPLACE FUNCTION names(k INT) RETURNS BIGINT RETURN both(k)": "names calls itself",
    "CREATE FUNCTION twice(x INT) RETURN x": "there is a function twice already",
    "CREATE FUNCTION abs(x INT) RETURN x": "there is a function abs in SQL",
    "CREATE FUNCTION g(x INT) RETURNS INT RETURN y": "there is no parameter y",
    "CREATE FUNCTION g(x INT, X INT) RETURN 1": "there are two parameters X",
    "CREATE FUNCTION g(x INT DEFAULT 1, y INT) RETURN 1": "y has no DEFAULT",
    "CREATE FUNCTION g(x INT DEFAULT z) RETURN x; SELECT g()": "a DEFAULT must be a constant",
    "CREATE FUNCTION g() RETURNS INT RETURN (SELECT q FROM s)": "there is no column q",
    "CREATE FUNCTION g(x INT) RETURNS INT RETURN array(x)": "g returns INT, and its body is ARRAY<INT>",
    "CREATE FUNCTION g() RETURNS TABLE (a INT) RETURN SELECT k, w FROM s": "g returns 1 column, and its query has 2",
    "CREATE FUNCTION g() RETURNS TABLE (a INT) RETURN 1": "expected a query",
    "CREATE FUNCTION g() NOT DETERMINISTIC RETURN 1": "not deterministic",
    "SELECT twice(1, 2, 3)": "twice takes (x INT, y INT)",
    "SELECT twice(z => 1)": "z is no parameter",
    "SELECT twice(1, x => 1)": "x is given twice",
    "SELECT twice()": "x is missing",
    "SELECT twice(array(1))": "x of twice is INT, not ARRAY<INT>",
    "SELECT of_key(1)": "write it in FROM",
    "SELECT * FROM twice(1)": "twice returns a value",
}


def test_what_is_refused_changes_nothing() -> None:
    pipeline = Pipeline()
    pipeline.sql(TABLES + FUNCTIONS)
    before = list(pipeline.sql("SHOW FUNCTIONS"))
    for text, entry in REFUSED.items():
        with pytest.raises(ProgramError) as error:
            pipeline.sql(text)
        assert entry in str(error.value), text
        assert list(pipeline.sql("SHOW FUNCTIONS")) == before


def test_functions_are_told_of() -> None:
    pipeline = Pipeline()
    pipeline.sql(TABLES + FUNCTIONS + "CREATE FUNCTION IF NOT EXISTS twice(q INT) RETURN q")
    assert list(pipeline.sql("SHOW USER FUNCTIONS")) == [
        ("both", "a INT", "the type of its body"),
        ("names", "k INT", "BIGINT"),
        ("of_key", "key INT", "TABLE (n INT, letter STRING)"),
        ("twice", "x INT, y INT", "INT"),
    ]
    parts = [line for (line,) in pipeline.sql("DESCRIBE FUNCTION EXTENDED of_key")]
    assert parts[:4] == ["Function: of_key", "Type: TABLE", "Input: key INT", "Returns: TABLE (n INT, letter STRING)"]
    assert parts[5].startswith("Text: CREATE FUNCTION of_key")
    pipeline.sql("DROP FUNCTION both; DROP TEMPORARY FUNCTION IF EXISTS both; DROP FUNCTION names")
    assert [name for name, *_ in pipeline.sql("SHOW FUNCTIONS")] == ["of_key", "twice"]
