"""SHOW, DESCRIBE, USE and IDENTIFIER: columns and rows are as in Spark 4.3, which has run the same statements."""

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

BY_SPARK: dict[str, tuple[list[str], list[Any]]] = {
    "SHOW TABLES": (
        ["namespace", "tableName", "isTemporary"],
        [("default", "t", False), ("default", "t0", False), ("default", "v", False)],
    ),
    "SHOW TABLES LIKE 't*'": (
        ["namespace", "tableName", "isTemporary"],
        [("default", "t", False), ("default", "t0", False)],
    ),
    "SHOW TABLES 't*'": (
        ["namespace", "tableName", "isTemporary"],
        [("default", "t", False), ("default", "t0", False)],
    ),
    "SHOW TABLES LIKE 'T*|v'": (
        ["namespace", "tableName", "isTemporary"],
        [("default", "t", False), ("default", "t0", False), ("default", "v", False)],
    ),
    "SHOW TABLES IN default LIKE 'v'": (["namespace", "tableName", "isTemporary"], [("default", "v", False)]),
    "SHOW VIEWS IN default LIKE 'v*'": (["namespace", "viewName", "isTemporary"], [("default", "v", False)]),
    "SHOW VIEWS LIKE 't*'": (["namespace", "viewName", "isTemporary"], []),
    "SHOW COLUMNS IN t": (["col_name"], [("a",), ("b",)]),
    "SHOW COLUMNS IN t IN default": (["col_name"], [("a",), ("b",)]),
    "SHOW TBLPROPERTIES t0": (["key", "value"], []),
    "SHOW DATABASES": (["namespace"], [("default",)]),
    "SHOW SCHEMAS LIKE 'd*'": (["namespace"], [("default",)]),
    "SHOW CATALOGS": (["catalog"], [("spark_catalog",)]),
    "SHOW CURRENT NAMESPACE": (["catalog", "namespace"], [("spark_catalog", "default")]),
    "SHOW CURRENT SCHEMA": (["catalog", "namespace"], [("spark_catalog", "default")]),
    "DESCRIBE TABLE t": (["col_name", "data_type", "comment"], [("a", "int", None), ("b", "string", None)]),
    "DESCRIBE v": (["col_name", "data_type", "comment"], [("a", "int", None)]),
    "DESCRIBE t b": (["info_name", "info_value"], [("col_name", "b"), ("data_type", "string"), ("comment", "NULL")]),
    "DESC QUERY SELECT a, b AS bb FROM t": (
        ["col_name", "data_type", "comment"],
        [("a", "int", None), ("bb", "string", None)],
    ),
    "DESCRIBE SELECT a FROM t": (["col_name", "data_type", "comment"], [("a", "int", None)]),
    "DESCRIBE VALUES (1)": (["col_name", "data_type", "comment"], [("col1", "int", None)]),
    "DESC QUERY SELECT a + 1L AS n, map('k', array(a)) AS m, named_struct('P', 1.5) AS x FROM t": (
        ["col_name", "data_type", "comment"],
        [("n", "bigint", None), ("m", "map<string,array<int>>", None), ("x", "struct<P:decimal(2,1)>", None)],
    ),
    "SELECT typeof(named_struct('P', map(1, 'a')))": (
        ["typeof(named_struct(P, map(1, a)))"],
        [("struct<P:map<int,string>>",)],
    ),
}
"""Columns and rows of Spark 4.3 with these tables and this view."""


def test_answers_are_those_of_spark() -> None:
    for text, expected in BY_SPARK.items():
        rows = PIPELINE.query(text).to_arrow()
        found = (rows.column_names, [tuple(row.values()) for row in rows.to_pylist()])
        assert (text, *found) == (text, *expected)


def test_functions_that_are_listed() -> None:
    assert PIPELINE.query("SHOW USER FUNCTIONS LIKE 'a*'").to_arrow().column("function").to_pylist() == ["area"]
    assert list(PIPELINE.query("SHOW FUNCTIONS LIKE 'zz*'")) == []


def test_extended_appends_key_and_nullability() -> None:
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (a INT, b STRING NOT NULL, c INT, PRIMARY KEY (a)); CREATE VIEW v AS SELECT c FROM t")
    table, view = (list(pipeline.query(f"DESCRIBE EXTENDED {name}")) for name in "tv")
    assert list(pipeline.query("DESCRIBE FORMATTED t")) == table
    assert [tuple(row) for row in table[2:5]] == [
        ("c", "int", None),
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
    ]
    assert {("Type", "MANAGED", ""), ("Primary Key", "a", ""), ("Not Null", "a, b", "")} <= {*map(tuple, table)}
    assert ("Type", "VIEW", "") in [*map(tuple, view)]
    assert not {"Primary Key", "Not Null"} & {row[0] for row in view}


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
