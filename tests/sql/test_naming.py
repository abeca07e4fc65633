"""Columns without an alias are called as Spark calls them; names.jsonl has Spark's names of expressions, by FROM.

Catches a name in another dialect's words, by which nobody who comes from Spark finds the column of a view.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deltic

TABLES = """
CREATE TABLE t (a INT, b INT, c STRING);
CREATE TABLE u (k INT, x INT);
CREATE TABLE emp (id INT, name STRING, dept STRING, salary DECIMAL(10, 2), boss INT, hired DATE);
CREATE TABLE arr (id INT, xs ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<v: INT, w: STRING>);
CREATE TABLE orders (id BIGINT, cust STRING, ts TIMESTAMP, amount DECIMAL(8, 2), status STRING);
CREATE TABLE events (uid INT, kind STRING, at TIMESTAMP, props STRING, tags ARRAY<STRING>, m MAP<STRING, INT>,
    s STRUCT<v: INT, w: STRING>);
CREATE TABLE nested (id INT, lines ARRAY<STRUCT<sku: STRING, n: INT>>, attrs MAP<STRING, ARRAY<INT>>,
    st STRUCT<x: STRUCT<y: INT>, z: STRING>);
"""
NAMES = [json.loads(line) for line in (Path(__file__).parent / "names.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(("source", "names"), NAMES)
def test_a_column_without_an_alias_is_called_as_in_spark(source, names):
    pipeline = deltic.Pipeline()
    pipeline.sql(TABLES)
    answer = pipeline.sql(f"SELECT {', '.join(names)} {source}").to_arrow()
    assert answer.column_names == list(names.values())


def test_a_function_of_the_time_keeps_its_name():
    pipeline = deltic.Pipeline()
    pipeline.sql(TABLES)
    pipeline.sql("CREATE VIEW v AS SELECT now() > ts, current_date(), datediff(current_date, ts) FROM orders")
    names = ["(now() > ts)", "current_date()", "datediff(current_date(), ts)"]
    assert pipeline["v"].to_arrow().column_names == names


def test_a_view_has_the_name_of_a_column_that_is_cast():
    pipeline = deltic.Pipeline()
    pipeline.sql("CREATE TABLE t (a BIGINT); CREATE VIEW v AS SELECT CAST(a AS INT), count(*) FROM t GROUP BY a")
    assert pipeline["v"].to_arrow().column_names == ["a", "count(1)"]


def test_the_name_of_a_range_without_an_order_is_not_asked_for():
    pipeline = deltic.Pipeline()
    pipeline.sql(TABLES)
    with pytest.raises(deltic.DelticError, match="a frame by RANGE with distances needs one column to order by"):
        pipeline.query("SELECT sum(a) OVER (PARTITION BY b RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t")
