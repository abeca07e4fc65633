"""VARCHAR(n), CHAR(n), DEFAULT and CREATE TABLE … AS: what SQL stores in a column whose type alone does not say it.

Catches a bound that is passed over, a default that is lost by INSERT, UPDATE, MERGE or a restart, and a table that is
not what its query says.
"""

from __future__ import annotations

import pytest

import deltic
from deltic.errors import DelticError

TABLE = (
    "CREATE TABLE t (a INT NOT NULL DEFAULT (2 + 3), b VARCHAR(3) DEFAULT 'x', c CHAR(4), "
    "d DATE DEFAULT DATE '2024-02-29')"
)


def rows(pipeline, query):
    return [tuple(row.values()) for row in pipeline.sql(query).to_arrow().to_pylist()]


@pytest.fixture
def pipeline():
    found = deltic.Pipeline()
    found.sql(TABLE)
    return found


@pytest.mark.parametrize(
    ("statement", "stored"),
    [
        ("INSERT INTO t (c) VALUES ('q')", (5, "x", "q", "2024-02-29")),
        ("INSERT INTO t VALUES (DEFAULT, DEFAULT, NULL, DEFAULT)", (5, "x", None, "2024-02-29")),
        ("INSERT INTO t VALUES (1, 'abc  ', 'ab  ', NULL)", (1, "abc", "ab", None)),
        ("INSERT INTO t VALUES (1, 'a    ', '  ab', NULL)", (1, "a  ", "  ab", None)),
        ("INSERT INTO t (b) SELECT 12", (5, "12", None, "2024-02-29")),
        ("INSERT INTO t (a) VALUES (1); UPDATE t SET a = DEFAULT, b = DEFAULT", (5, "x", None, "2024-02-29")),
        (
            "MERGE INTO t USING (SELECT 7 AS k) s ON t.a = s.k WHEN NOT MATCHED THEN INSERT (a) VALUES (s.k)",
            (7, "x", None, "2024-02-29"),
        ),
    ],
)
def test_what_is_stored(pipeline, statement, stored):
    pipeline.sql(statement)
    assert rows(pipeline, "SELECT a, b, c, CAST(d AS STRING) AS d FROM t") == [stored]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t (b) VALUES ('abcd')",
        "INSERT INTO t (c) SELECT 12345",
        "INSERT INTO t VALUES (1, 'abc', 'a', NULL); UPDATE t SET b = b || 'd'",
    ],
)
def test_what_is_too_long_is_an_error(pipeline, statement):
    with pytest.raises(DelticError, match="more letters than its column takes"):
        pipeline.sql(statement)


def test_a_restart_keeps_bounds_and_defaults(tmp_path):
    with deltic.Pipeline(state=tmp_path / "state") as first:
        first.sql("CREATE TABLE t (a INT, b VARCHAR(2) DEFAULT 'x')")
    with deltic.Pipeline(state=tmp_path / "state") as second:
        second.sql("INSERT INTO t (a) VALUES (1)")
        assert rows(second, "SELECT * FROM t") == [(1, "x")]
        with pytest.raises(DelticError, match="more letters"):
            second.sql("INSERT INTO t VALUES (1, 'xyz')")


def test_a_table_of_a_query():
    pipeline = deltic.Pipeline()
    pipeline.sql(
        "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (2);"
        "CREATE VIEW v AS SELECT a * 1.5 AS p FROM t;"
        "CREATE TABLE w AS SELECT *, 'x' AS q FROM v; INSERT INTO t VALUES (3);"
        "CREATE TABLE IF NOT EXISTS w AS SELECT nothing FROM nowhere; INSERT INTO w VALUES (NULL, NULL)"
    )
    assert sorted(map(str, rows(pipeline, "SELECT * FROM w"))) == [
        "(Decimal('1.5'), 'x')",
        "(Decimal('3.0'), 'x')",
        "(None, None)",
    ]


def test_a_temporary_view_is_a_view():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TEMPORARY VIEW v AS SELECT 1 AS a; CREATE OR REPLACE TEMP VIEW v AS SELECT 2 AS a")
    assert rows(pipeline, "SELECT * FROM v") == [(2,)]
