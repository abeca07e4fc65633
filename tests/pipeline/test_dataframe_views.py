"""Views by DataFrames of Spark: what they hold is what Spark computes of the same calls over the same rows.

Catches a column that is mixed up with another of its name, a lost duplicate or NULL, and a call that is passed over.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import pytest

import deltic
from deltic import CatalogError, DelticError

pytestmark = pytest.mark.spark
F = pytest.importorskip("pyspark.sql.functions")
W = pytest.importorskip("pyspark.sql").Window

ORDERS = [
    (1, "ada", dt.date(2026, 1, 1), Decimal("12.50"), "a,b"),
    (2, "bob", dt.date(2026, 1, 1), Decimal("3.00"), "b"),
    (3, "ada", dt.date(2026, 1, 2), None, None),
    (4, None, dt.date(2026, 1, 3), Decimal("7.25"), ""),
    (5, "cyd", dt.date(2026, 1, 3), Decimal("12.50"), "a"),
]
PEOPLE = [("ada", "north", 30), ("bob", "south", None), ("dan", "north", 41)]


LITERALS = [
    *(1, -2, 3 * 10**9, 1.5, float("nan"), "o'x\\n\n`", True, b"ab", Decimal("1.50"), dt.date(2026, 1, 2)),
    *(dt.datetime(2026, 1, 2, 3, 4, 5, 678), dt.timedelta(1, 3, 5), [1, 2], 1e300),
]

LIKES = [f"who {words} ('a%', '%d', NULL)" for words in ("LIKE ALL", "LIKE ANY", "NOT LIKE ALL", "NOT LIKE ANY")]


def latest(o):
    return o.withColumn("r", F.row_number().over(W.partitionBy("who").orderBy(F.desc("id"))))


CASES = {
    "all": lambda o, p: o,
    "columns": lambda o, p: o.select("id", "who"),
    "a column by its name": lambda o, p: o.select(o["who"], F.col("price").alias("p")),
    "withColumn": lambda o, p: o.withColumn("double", F.col("price") * 2),
    "withColumn in place": lambda o, p: o.withColumn("price", F.col("price") + 1),
    "withColumns": lambda o, p: o.withColumns({"a": F.upper("who"), "b": F.length("tags")}),
    "withColumnRenamed": lambda o, p: o.withColumnRenamed("who", "customer"),
    "drop": lambda o, p: o.drop("tags", "day"),
    "toDF": lambda o, p: p.toDF("a", "b", "c"),
    "selectExpr": lambda o, p: o.selectExpr("id % 2 AS odd", "coalesce(who, '?') AS who"),
    "filter": lambda o, p: o.filter(F.col("price") > 5),
    "filter by text": lambda o, p: o.filter("price > 5 AND who IS NOT NULL"),
    "isin": lambda o, p: o.filter(F.col("who").isin("ada", "cyd")),
    "like": lambda o, p: o.filter(F.col("who").like("a%") | F.expr("who LIKE ANY ('x''%', 'b_b') OR who IS NULL")),
    "not like": lambda o, p: o.selectExpr(*(f"{w} AS c{n}" for n, w in enumerate(LIKES))),
    "between": lambda o, p: o.filter(F.col("price").between(3, 10)),
    "texts of SQL": lambda o, p: o.selectExpr(
        "id",
        "struct(who, id AS `k`).who w",
        "price > 1 AND upper(who) < 'B' AS `a b`",
    ),
    "calls that Spark computes by others": lambda o, p: o.selectExpr(
        "price NOT BETWEEN 1 AND 5 AS b", "nvl(who, tags) AS n", "extract(month FROM day) AS m", "nullif(id, 1) AS u"
    ),
    "lambda": lambda o, p: o.select(
        F.transform(F.split("tags", ","), lambda x: F.concat(F.upper(x), "who")).alias("t"),
        F.aggregate(F.array("id"), F.lit(1).cast("long"), lambda a, x: a + x).alias("a"),
    ),
    "literals": lambda o, p: o.select(*(F.lit(value).alias(f"l{n}") for n, value in enumerate(LITERALS))),
    "when": lambda o, p: o.select("id", F.when(F.col("price") > 5, "much").otherwise("little").alias("k")),
    "cast": lambda o, p: o.select(F.col("id").cast("string"), F.col("price").cast("double").alias("d")),
    "dates": lambda o, p: o.select("id", F.date_add("day", 3).alias("d"), F.month("day").alias("m")),
    "texts": lambda o, p: o.select(F.concat_ws("-", "who", "tags").alias("t"), F.substring("who", 1, 2).alias("s")),
    "null-safe": lambda o, p: o.filter(F.col("who").eqNullSafe(F.lit(None))),
    "fillna": lambda o, p: o.fillna({"who": "?"}),
    "dropna": lambda o, p: o.dropna(subset=["price"]),
    "dropna of NaN": lambda o, p: o.withColumn("x", F.expr("double(if(id = 1, 'NaN', NULL))")).dropna("any", 4),
    "distinct": lambda o, p: o.select("who").distinct(),
    "rollup": lambda o, p: o.rollup("who", "day").agg(F.count("*").alias("n"), F.sum("price").alias("s")),
    "cube": lambda o, p: o.cube("who", "day").count(),
    "grouping": lambda o, p: o.rollup("who").agg(F.grouping("who").alias("g"), F.grouping_id().alias("i")),
    "unpivot": lambda o, p: p.unpivot(["who"], ["age"], "name", "value"),
    "pivot": lambda o, p: o.groupBy("day").pivot("who", ["ada", "bob"]).sum("price"),
    "pivot of several": lambda o, p: o.groupBy("day").pivot("who", ["ada", "cyd"]).agg(F.min("id"), F.max("price")),
    "dropDuplicates": lambda o, p: o.select("who", "day").dropDuplicates(),
    "pivot of counts": lambda o, p: o.groupBy("day").pivot("who", ["ada", "bob"]).count(),
    "a column twice": lambda o, p: o.select("id", "*").toDF(*"abcdef").union(o.select("id", "id", *o.columns[1:])),
    "total": lambda o, p: o.select(F.sum("price").alias("s"), F.count("who").alias("n")),
    "group": lambda o, p: o.groupBy("who").count(),
    "aggregates": lambda o, p: o.groupBy("who").agg(
        F.sum("price").alias("s"), F.avg("price").alias("a"), F.max("day").alias("m"), F.countDistinct("day").alias("n")
    ),
    "group by value": lambda o, p: o.groupBy((F.col("id") % 2).alias("odd")).agg(F.min("price").alias("m")),
    "all rows": lambda o, p: o.agg(F.sum("price").alias("s"), F.count("*").alias("n")),
    "having": lambda o, p: o.groupBy("who").agg(F.count("*").alias("n")).where("n > 1"),
    "group of group": lambda o, p: o.groupBy("who", "day").count().groupBy("count").agg(F.count("*").alias("n")),
    "join": lambda o, p: o.join(p, "who"),
    "left join": lambda o, p: o.join(p, "who", "left"),
    "keys of both sides": lambda o, p: o.join(p, "who", "full").select(
        "who", o["who"].alias("of"), p["who"].alias("to"), "shop"
    ),
    "right join": lambda o, p: o.join(p, "who", "right"),
    "full join": lambda o, p: o.join(p, "who", "full").select("who", "id", "shop"),
    "join by condition": lambda o, p: o.join(p, (o["who"] == p["who"]) & (p["age"] > 20)).select(o["id"], p["who"]),
    "semi join": lambda o, p: o.join(p, "who", "left_semi"),
    "anti join": lambda o, p: o.join(p, "who", "left_anti"),
    "cross join": lambda o, p: o.select("id").crossJoin(p.select("shop")),
    "self join": lambda o, p: (
        o.alias("x").join(o.alias("y"), F.col("x.who") == F.col("y.who")).select("x.id", F.col("y.id").alias("other"))
    ),
    "join of groups": lambda o, p: o.groupBy("who").agg(F.sum("price").alias("s")).join(p, "who", "left"),
    "union": lambda o, p: o.select("who").union(p.select("shop")),
    "unionByName": lambda o, p: o.select("id", "who").unionByName(o.select("who", "id")),
    "intersect": lambda o, p: o.select("who").intersect(p.select("who")),
    "subtract": lambda o, p: p.select("who").subtract(o.select("who")),
    "exceptAll": lambda o, p: o.select("who").exceptAll(p.select("who")),
    "window": lambda o, p: latest(o).where("r = 1").drop("r"),
    "running sum": lambda o, p: o.select(
        "id", F.sum("price").over(W.partitionBy("who").orderBy("id").rowsBetween(W.unboundedPreceding, 0)).alias("s")
    ),
    "lag": lambda o, p: o.select("id", F.lag("price").over(W.partitionBy("who").orderBy("id")).alias("before")),
    "explode": lambda o, p: o.select("id", F.explode(F.split("tags", ",")).alias("tag")),
    "explode_outer": lambda o, p: o.select("id", F.explode_outer(F.split("tags", ",")).alias("tag")),
    "top": lambda o, p: o.orderBy(F.desc("price"), "id").limit(2),
    "top of columns": lambda o, p: o.orderBy(F.desc("id")).select("id", F.upper("who").alias("w")).limit(2),
    "hints and partitions": lambda o, p: o.repartition(3).join(F.broadcast(p), "who").orderBy("id"),
    "struct": lambda o, p: o.select(F.struct("id", "who").alias("s")).select("s.who"),
    "collect": lambda o, p: o.groupBy("day").agg(F.sort_array(F.collect_set("who")).alias("all")),
    "sql": lambda o, p: o.sparkSession.sql("SELECT who, max(price) AS m FROM {o} GROUP BY who", o=o),
}


@pytest.fixture
def pipeline(spark):
    return tables(spark)


def tables(spark, is_filled=True):
    pipeline = deltic.Pipeline(spark)
    pipeline.table(
        "orders", {"id": "int64", "who": "string?", "day": "date?", "price": "decimal(8, 2)?", "tags": "string?"}, "id"
    )
    pipeline.table("people", {"who": "string", "shop": "string", "age": "int64?"}, "who")
    if is_filled:
        fill(pipeline, ORDERS[:2], PEOPLE)
    return pipeline


def fill(pipeline, orders, people):
    with pipeline.transaction() as change:
        change.insert("orders", orders)
        change.insert("people", people)


def frames(pipeline):
    return pipeline["orders"].to_spark(), pipeline["people"].to_spark()


def rows(frame):
    return Counter(repr(tuple(row)) for row in frame.collect())


@pytest.mark.parametrize("case", CASES)
def test_a_view_holds_what_spark_computes(pipeline, case):
    pipeline.view("v", CASES[case](*frames(pipeline)))
    for _ in range(2):
        assert rows(pipeline["v"].to_spark()) == rows(CASES[case](*frames(pipeline)))
        if len(pipeline["orders"]) < 4:
            fill(pipeline, ORDERS[2:], [("cyd", "south", 7)])
    pipeline.execute("DELETE FROM orders WHERE id = 1")
    assert rows(pipeline["v"].to_spark()) == rows(CASES[case](*frames(pipeline)))


def python_function(o):
    return o.select(F.udf(lambda text: text, "string")("who").alias("w"))


REFUSED = {
    "sample": (lambda o, p: o.sample(0.5), "sample, which takes other rows where they lie otherwise, is not supported"),
    "some duplicates": (lambda o, p: o.dropDuplicates(["who"]), "dropDuplicates of some columns is not supported"),
    "offset": (lambda o, p: o.offset(1), "offset is not supported"),
    "in pandas": (lambda o, p: p.mapInPandas(lambda parts: parts, "who string"), "mapInPandas is not supported"),
    "udf": (lambda o, p: python_function(o), "the function <lambda> is unknown here: add it by pipeline.function"),
    "other rows": (lambda o, p: o.join(o.sparkSession.range(3), "id"), "come from elsewhere than tables and views"),
    "other columns": (lambda o, p: p.toDF("a", "b", "c").alias("orders").select("a"), None),
    "random": (lambda o, p: o.select(F.rand().alias("r")), "rand"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_supported_is_named(pipeline, case):
    make, message = REFUSED[case]
    if message is None:
        pipeline.view("v", make(*frames(pipeline)))
        return
    with pytest.raises(DelticError) as caught:
        pipeline.view("v", make(*frames(pipeline)))
    assert message in str(caught.value)
    assert "v" not in pipeline


def test_what_spark_knows_by_the_name_of_a_table_is_that_table(pipeline, spark):
    spark.createDataFrame([("x", "y", 1)], "who string, shop string, age long").createOrReplaceTempView("people")
    pipeline.view("v", spark.table("people").groupBy("shop").count())
    assert sorted(pipeline["v"]) == [("north", 2), ("south", 1)]
    with pytest.raises(CatalogError, match="the DataFrame called people has the columns a, and people has"):
        pipeline.view("w", spark.createDataFrame([(1,)], "a int").alias("people"))
    spark.catalog.dropTempView("people")


def test_a_view_by_a_dataframe_is_kept_and_replaced(spark, tmp_path):
    with deltic.Pipeline(spark, state=tmp_path) as pipeline:
        pipeline.table("t", {"a": "int64"})
        pipeline.view("v", pipeline["t"].to_spark().where("a > 1"))
        pipeline.view("v", pipeline["t"].to_spark().where("a > 2"), replace=True)
        with pytest.raises(CatalogError, match=r"there is a view v already; .* pass replace=True"):
            pipeline.view("v", pipeline["t"].to_spark())
        with pytest.raises(CatalogError, match="hidden"):
            pipeline.view("w", pipeline["t"].to_spark(), hidden=True)
    with deltic.Pipeline(spark, state=tmp_path) as pipeline:
        pipeline.execute("INSERT INTO t VALUES (2), (3)")
        assert list(pipeline["v"]) == [(3,)]


def test_a_session_without_ansi_mode(pipeline, spark):
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(CatalogError, match=r"set spark\.sql\.ansi\.enabled to true"):
            pipeline.view("v", pipeline["orders"].to_spark())
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
