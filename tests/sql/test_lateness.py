"""LATENESS and WATERMARK FOR: catches lengths that are read as others, and what is refused without a place."""

from __future__ import annotations

import pytest

import deltic
from deltic import DelticError

READ = {
    "ts TIMESTAMP LATENESS INTERVAL 1 HOUR": "ts 1 hour",
    "ts TIMESTAMP LATENESS INTERVAL '90' MINUTES NOT NULL, x INT": "ts 90 minutes",
    "x INT, ts TIMESTAMP_NTZ NOT NULL LATENESS INTERVAL 2 DAYS": "ts 2 days",
    "ts TIMESTAMP, x INT, WATERMARK FOR TS AS ts - INTERVAL '5' SECOND": "ts 5 seconds",
    "WATERMARK FOR ts AS ts, Ts TIMESTAMP": "Ts 0 days",
    "d DATE LATENESS INTERVAL 48 HOURS COMMENT 'two days'": "d 2 days",
    "n BIGINT LATENESS 100 PRIMARY KEY": "n 100",
    "n INT LATENESS 1 + 2": "n 3",
    "n TINYINT, WATERMARK FOR n AS n - 7": "n 7",
}
REFUSED = {
    "ts TIMESTAMP LATENESS 5": "5 is no length of times that are TIMESTAMP",
    "ts TIMESTAMP LATENESS INTERVAL 1 MONTH": "INTERVAL 1 MONTH is no length",
    "d DATE LATENESS INTERVAL 1 HOUR": "INTERVAL 1 HOUR is no length of times that are DATE",
    "n INT LATENESS INTERVAL 1 HOUR": "is no length of times that are INT",
    "s STRING LATENESS 5": "s is STRING, which is no time",
    "n INT LATENESS -3": "the length is below zero",
    "n INT LATENESS CAST('a' AS INT)": "is undefined",
    "n INT LATENESS": "expected a length",
    "n INT LATENESS NULL": "expected a length",
    "n INT LATENESS 1, m INT LATENESS 2": "n says already how late rows may come",
    "n INT LATENESS 1, WATERMARK FOR n AS n": "n says already how late rows may come",
    "n INT, WATERMARK FOR m AS m": "there is no column m",
    "n INT, WATERMARK FOR n": "expected AS",
    "n INT, WATERMARK FOR n AS n + 1": "a watermark is n, or n less a length",
    "n INT, m INT, WATERMARK FOR n AS m - 1": "a watermark is n, or n less a length",
    "n INT, m INT, WATERMARK FOR n AS n - m": "the length is a constant",
}


@pytest.mark.parametrize("columns", READ)
def test_lateness_is_read(columns):
    pipeline = deltic.Pipeline()
    pipeline.sql(f"CREATE TABLE t ({columns})")
    table = pipeline.catalog.tables["t"]
    assert f"lateness ({READ[columns]})" in str(table)
    made = deltic.Pipeline()
    made.sql(str(pipeline.sql("SHOW CREATE TABLE t")))
    assert made.catalog.tables["t"] == table


@pytest.mark.parametrize("columns", REFUSED)
def test_what_is_no_lateness_is_refused_at_its_place(columns):
    with pytest.raises(deltic.ProgramError, match=r"<sql>:1:\d+: ") as error:
        deltic.Pipeline().sql(f"CREATE TABLE t ({columns})")
    assert REFUSED[columns] in str(error.value)


def test_a_view_has_no_lateness():
    with pytest.raises(deltic.ProgramError, match="a view has no lateness"):
        deltic.Pipeline().sql("DECLARE RECURSIVE VIEW v (n INT LATENESS 3)")


def test_a_table_of_python_is_shown_as_sql_would_make_it():
    from datetime import timedelta

    pipeline = deltic.Pipeline()
    pipeline.table("t", {"k": "int64", "ts": "timestamp"}, key="k", lateness={"ts": timedelta(minutes=90)})
    shown = str(pipeline.sql("SHOW CREATE TABLE t"))
    assert "ts TIMESTAMP NOT NULL LATENESS INTERVAL 90 MINUTES" in shown
    assert "more than 90 minutes behind the latest" in str(pipeline.sql("DESCRIBE EXTENDED t").to_arrow())
    made = deltic.Pipeline()
    made.sql(shown)
    assert made.catalog.tables["t"] == pipeline.catalog.tables["t"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"ts": 5}, "5 is no lateness of column ts timestamp"),
        ({"n": "1 hour"}, "'1 hour' is no lateness of column n int64"),
        ({"x": 5}, "it has no column 'x'"),
        ({"s": 5}, "string is no time"),
        ({"n": -1}, "below zero"),
        ({"n": 1, "ts": 1}, "one column has its lateness"),
        ("ts", "'ts' is no lateness"),
    ],
)
def test_what_is_no_lateness_is_refused_in_python(given, told):
    with pytest.raises(DelticError, match=told):
        deltic.Pipeline().table("t", {"n": "int64", "s": "string", "ts": "timestamp"}, lateness=given)
