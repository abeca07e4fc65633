"""SHOW, DESCRIBE, USE and IDENTIFIER: which rows they have is as in Spark 4.3, which has run the same statements."""

from __future__ import annotations

import re
from typing import Any

import pytest

import deltic

PIPELINE = deltic.Pipeline()
PIPELINE.sql(
    """
    CREATE TABLE t (a INT, b STRING);
    INSERT INTO t VALUES (1, 'x'), (2, 'y');
    CREATE TABLE t0 (a INT);
    CREATE VIEW v AS SELECT a FROM t;
    CREATE FUNCTION area(x INT) RETURNS INT RETURN x * x;
    """
)

NAMES = {
    "SHOW TABLES": ["t", "t0", "v"],
    "SHOW TABLES LIKE 't*'": ["t", "t0"],
    "SHOW TABLES 't*'": ["t", "t0"],
    "SHOW TABLES LIKE 'T*|v'": ["t", "t0", "v"],
    "SHOW TABLES IN default LIKE 'v'": ["v"],
    "SHOW VIEWS IN default LIKE 'v*'": ["v"],
    "SHOW VIEWS LIKE 't*'": [],
    "SHOW COLUMNS IN t": ["a", "b"],
    "SHOW COLUMNS IN t IN default": ["a", "b"],
    "SHOW USER FUNCTIONS LIKE 'a*'": ["area"],
    "SHOW FUNCTIONS LIKE 'zz*'": [],
    "SHOW TBLPROPERTIES t": [],
    "SHOW DATABASES": ["default"],
    "SHOW SCHEMAS LIKE 'd*'": ["default"],
    "SHOW CATALOGS": ["spark_catalog"],
    "SHOW CURRENT NAMESPACE": ["spark_catalog"],
    "DESCRIBE TABLE t": ["a", "b"],
    "DESCRIBE t b": ["b"],
    "DESC QUERY SELECT a, b AS bb FROM t": ["a", "bb"],
    "DESCRIBE SELECT a FROM t": ["a"],
    "DESCRIBE VALUES (1)": ["col1"],
}


@pytest.mark.parametrize("text", NAMES)
def test_the_first_column(text: str) -> None:
    assert PIPELINE.query(text).to_arrow().column(0).to_pylist() == NAMES[text]


def test_formatted_is_extended() -> None:
    assert list(PIPELINE.query("DESCRIBE FORMATTED t")) == list(PIPELINE.query("DESCRIBE EXTENDED t"))


def test_a_query_is_described_by_its_types() -> None:
    rows = PIPELINE.query("DESCRIBE QUERY SELECT a + 1L AS n, map('k', a) AS m FROM t")
    assert [tuple(row)[:2] for row in rows] == [("n", "BIGINT"), ("m", "MAP<STRING, INT>")]


BY_TEXT: dict[str, list[Any]] = {
    "SELECT IDENTIFIER('a') FROM t WHERE a = 1": [(1,)],
    "SELECT IDENTIFIER('t.a') FROM t WHERE a = 1": [(1,)],
    "SELECT IDENTIFIER('t' || '.a') FROM IDENTIFIER('t' || '') WHERE a = 1": [(1,)],
    "SELECT IDENTIFIER(concat('t', '.', lower('A'))) FROM IDENTIFIER(concat('t')) WHERE a = 1": [(1,)],
    "SELECT IDENTIFIER('a' || substr('xbs', 2))(-1)": [(1,)],
    "SELECT IDENTIFIER('abs')(-1)": [(1,)],
    "SELECT IDENTIFIER('sum')(a) FROM t": [(3,)],
    "SELECT z FROM (SELECT a AS IDENTIFIER('z') FROM t) WHERE z = 1": [(1,)],
    "SELECT u.a FROM IDENTIFIER('t') AS IDENTIFIER('u') WHERE a = 1": [(1,)],
    "SELECT IDENTIFIER('`a b`') FROM (SELECT 1 AS `a b`)": [(1,)],
    "SELECT a FROM IDENTIFIER('default.t') WHERE a = 1": [(1,)],
    "SELECT identifier FROM (SELECT 1 AS identifier)": [(1,)],
}


@pytest.mark.parametrize("text", BY_TEXT)
def test_names_by_their_texts(text: str) -> None:
    assert list(map(tuple, PIPELINE.query(text))) == BY_TEXT[text]


REFUSED = {
    "SHOW PARTITIONS t": "tables have no partitions",
    "SHOW TABLES IN nope": "there is no schema nope",
    "SHOW COLUMNS IN t LIKE 'a'": "the statement should end here",
    "DESCRIBE t nope": "there is no column nope",
    "DESCRIBE t AS JSON": "AS JSON is not supported",
    "USE nope": "there is no schema nope",
    "SELECT IDENTIFIER('t.*') FROM t": "there is no column",
    "SELECT IDENTIFIER('') FROM t": "'' is no name",
    "SELECT IDENTIFIER(concat('a', b)) FROM t": "IDENTIFIER takes the text of a name",
    "SELECT IDENTIFIER(length('a')) FROM t": "IDENTIFIER takes the text of a name",
    "SELECT IDENTIFIER() FROM t": "IDENTIFIER takes the text of a name",
    "SELECT * FROM IDENTIFIER('foo.t')": "names have no database here",
    "ALTER TABLE v RENAME TO w": "write ALTER VIEW",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(deltic.ProgramError, match=re.escape(REFUSED[text])):
        PIPELINE.sql(text)


def test_what_changes_nothing() -> None:
    PIPELINE.sql("USE default; USE SCHEMA default; COMMENT ON COLUMN t.a IS 'x'; COMMENT ON VIEW v IS NULL")
    PIPELINE.sql("ALTER VIEW v SET TBLPROPERTIES ('a' = 'b')")
