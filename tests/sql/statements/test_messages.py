"""What is said about texts that are wrong, as users read it. Catches carets in wrong places, and sqlglot's words."""

from __future__ import annotations

import pytest

import deltic
from deltic import DelticError

TEXTS = {
    "quotes": "SELECT 'abc",
    "comment": "SELECT 1, /* and so on",
    "misspelt": "SELEC 1",
    "other-statement": "GRANT SELECT ON t",
    "too-early": "SELECT id\nFROM t\nWHERE",
    "misplaced": "SELECT id nam e FROM t",
    "parenthesis": "CREATE TABLE q (a INT b INT)",
    "no-table": "SELECT * FROM t JOIN USING (id)",
    "no-name-in-with": "WITH (SELECT 1) SELECT 2",
    "no-as": "SELECT CAST(id STRING) FROM t",
    "two-commas": "CREATE TABLE q (a INT,, b INT)",
    "last-comma": "CREATE TABLE q (a INT,)",
    "part-of-a-large-value": "SELECT abs(abs(abs(abs(abs(abs(abs(id))))))) + INTERVAL 7 YEAR FROM t",
    "name-in-double-quotes": 'CREATE TABLE q ("unit price" INT)',
    "type": "CREATE TABLE q (a INTT)",
    "default": "CREATE TABLE q (a INT DEFAULT 'x')",
    "default-column": "CREATE TABLE q (a INT DEFAULT b, b INT)",
    "char": "CREATE TABLE q (a CHAR)",
    "varchar-inside": "CREATE TABLE q (a ARRAY<VARCHAR(3)>)",
    "returning": "INSERT INTO t VALUES (1, 'x') RETURNING nope",
    "mutual-recursion": "CREATE VIEW w AS WITH MUTUALLY RECURSIVE x (a INT) AS (SELECT 1) SELECT a FROM x",
    "index": "CREATE INDEX i ON t (id)",
    "check": "CREATE TABLE q (a INT, CHECK (a > 1))",
    "foreign-key": "CREATE TABLE q (a INT, FOREIGN KEY (a) REFERENCES t (id))",
    "using": "CREATE TABLE q (a INT) USING parqet LOCATION '/data/q'",
    "using-option": "CREATE TABLE q (a INT) USING csv OPTIONS (path '/data/q', headr 'true')",
    "location-alone": "CREATE TABLE q (a INT) LOCATION '/data/q'",
    "using-nothing": "CREATE TABLE q USING parquet LOCATION '/no/such/folder'",
    "created-as": "CREATE TABLE q AS SELECT nam FROM t",
    "created-with-columns-as": "CREATE TABLE q (a INT) AS SELECT 1",
    "temporary": "CREATE TEMPORARY TABLE q (a INT)",
    "replaced-table": "CREATE OR REPLACE TABLE t (a INT)",
    "schema": "CREATE VIEW db.v AS SELECT 1",
    "policy": "CREATE VIEW q REFRESH POLICY OFTEN AS SELECT 1",
    "recursive": "CREATE VIEW q AS WITH r AS (SELECT id FROM t UNION SELECT id + 1 FROM r WHERE id < 9) FROM r",
    "refresh": "REFRESH MATERIALIZED VIEW v",
    "subscribe": "SUBSCRIBE TO v",
    "set": "SET timezone = 'Europe/Rome'",
    "copy": "COPY t FROM 'a.csv'",
    "vacuum": "VACUUM t",
    "prepare": "PREPARE q AS SELECT 1",
    "strftime": "SELECT strftime(name, '%Y') FROM t",
    "list": "SELECT list(id) FROM t",
    "series": "SELECT generate_series(1, 3)",
    "series-in-from": "SELECT n FROM generate_series(1, 3) AS s(n)",
    "read-csv": "SELECT * FROM read_csv('a.csv')",
    "file": "SELECT * FROM 'a.csv'",
    "file-of-spark": "SELECT * FROM csv.`a.csv`",
    "catalog": "SELECT * FROM information_schema.tables",
    "serial": "CREATE TABLE q (id SERIAL)",
    "json": "CREATE TABLE q (id JSON)",
    "show": "SHOW PROCESSLIST",
    "explain": "EXPLAIN COST SELECT 1",
    "unknown-table": "DELETE FROM tt",
    "unknown-column": "UPDATE t SET nam = 'x'",
    "stored": "INSERT INTO t\nVALUES ('x', 'y')",
    "too-few": "INSERT INTO t VALUES (1)",
    "kind": "DROP VIEW t",
    "taken": "CREATE VIEW T AS SELECT 1 AS x",
    "second-statement": "SELECT 1 AS one;\nSELECT * FROM nothing;",
}


def test_messages(golden):
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (id INT PRIMARY KEY, name STRING)")
    parts = []
    for name, text in TEXTS.items():
        with pytest.raises(DelticError) as raised:
            pipeline.sql(text, file="a.sql")
        parts.append(f"── {name}\n{raised.value}\n")
    golden("sql/statements.txt", "\n".join(parts))
