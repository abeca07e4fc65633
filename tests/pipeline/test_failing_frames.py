"""DataFrames whose jobs fail: two lines with the table, the first cause and the remedy; Spark's trace on request.

Catches an error under hundreds of lines of traces, one that does not name its table, and a table that is half filled.
"""

from __future__ import annotations

import traceback

import pytest

import deltic
from deltic.errors import DataError


@pytest.fixture
def shop(spark):
    pipeline = deltic.Pipeline(spark)
    pipeline.table("sale", {"n": "int64?"})
    return pipeline


def failing(spark):
    from pyspark.sql.functions import expr

    return spark.range(3).select(expr("raise_error('no such shop')").cast("bigint").alias("n"))


def test_the_error_has_two_lines(spark, shop, monkeypatch):
    monkeypatch.delenv("DELTIC_DEBUG", raising=False)
    with pytest.raises(DataError) as caught, shop.transaction() as change:
        change.insert("sale", failing(spark))
    first, second = str(caught.value).splitlines()
    assert first.startswith("insert: table sale: Spark cannot compute the rows: [USER_RAISED_EXCEPTION] no such shop")
    assert second.startswith("  hint: Spark fails in the same way without Deltic")
    assert "pyspark.errors" not in "".join(traceback.format_exception(caught.value))
    assert not list(shop["sale"])


def test_the_trace_is_shown_on_request(spark, shop, monkeypatch):
    monkeypatch.setenv("DELTIC_DEBUG", "1")
    with pytest.raises(DataError) as caught, shop.transaction() as change:
        change.insert("sale", failing(spark))
    assert "pyspark.errors" in "".join(traceback.format_exception(caught.value))


def test_a_function_of_python(spark, shop):
    from pyspark.sql.functions import udf

    def fail(n):
        raise ValueError(f"no such shop: {n}")

    frame = spark.range(1).select(udf(fail, "bigint")("id").alias("n"))
    found = "table sale: Spark cannot compute the rows: ValueError: no such shop: 0"
    with pytest.raises(DataError, match=found), shop.transaction() as change:
        change.insert("sale", frame)
