"""Tables over DataFrames, and over tables of Spark; views that are published as temporary views.

Catches rows that a change column leaves out, a DataFrame of another process that is taken for an empty one, and a
temporary view that is believed to be there, or to be the one that was made.
"""

from __future__ import annotations

import pytest

import deltic
from deltic import DelticError, External
from deltic.errors import CatalogError
from deltic.pipeline.spark.spark import quoted_table


def test_frames_and_tables(spark, tmp_path):
    frame = spark.createDataFrame([(1, "nut", 1), (2, None, 1)], "id long, name string, version int")
    frame.createOrReplaceTempView("orders")
    with deltic.Pipeline(spark, state=tmp_path / "state") as pipeline:
        pipeline.table("given", source=frame)
        pipeline.table("named", key="id", source=External("spark", table="orders", changed="version"))
        assert pipeline.refresh().sources["named"].rows_read == 2
        more = [(1, "nut", 1), (2, "cog", 2), (3, "bolt", 2)]
        spark.createDataFrame(more, frame.schema).createOrReplaceTempView("orders")
        pipeline.attach("given", frame.where("id = 2"))
        told = pipeline.refresh()
        assert told.sources["given"].deleted == 1
        assert sorted(pipeline["named"]) == more
    with deltic.Pipeline(spark, state=tmp_path / "state") as pipeline:
        assert "the source is a DataFrame of another process" in str(pipeline.refresh().failed["given"])
        pipeline.attach("given", frame)
        assert pipeline.refresh().sources["given"].inserted == 1
        told = repr(pipeline.sql("SHOW CREATE TABLE named"))
        assert told.endswith("USING spark OPTIONS (table 'orders', changed 'version')")


@pytest.mark.parametrize("engine", ["auto", "local"])
def test_names_that_spark_takes_for_fields(spark, engine):
    frame = spark.sql("SELECT 1L AS `net.price`, 'nut' AS `a``b`, INTERVAL '1' YEAR AS term")
    pipeline = deltic.Pipeline(spark, engine=engine)
    pipeline.table("orders", source=frame)
    assert pipeline.refresh().sources["orders"].how == {"auto": "loaded, by tasks", "local": "compared"}[engine]
    assert pipeline["orders"].to_spark().select("`net.price`", "`a``b`").collect() == [(1, "nut")]


@pytest.mark.slow
def test_names_of_two_and_three_parts(spark, tmp_path):
    spark.sql(f"CREATE DATABASE shop LOCATION '{tmp_path}/shop'")
    spark.sql("CREATE TABLE shop.sale USING parquet AS SELECT 1L AS id, 'a' AS name")
    try:
        pipeline = deltic.Pipeline(spark)
        for number, name in enumerate(("shop.sale", "spark_catalog.shop.sale", "`spark_catalog`.`shop`.sale")):
            pipeline.table(f"t{number}", source=External("spark", table=name))
        spark.sql("INSERT INTO shop.sale VALUES (2, 'b')")
        assert {told.inserted for told in pipeline.refresh().sources.values()} == {2}
        assert pipeline.pending()["t0"] == "all rows: a table of parquet has no versions"
        spark.sql("INSERT INTO shop.sale VALUES (3, 'c')")
        hows = {told.how for told in pipeline.refresh().sources.values()}
        assert hows == {"compared, by tasks: a table of parquet has no versions"}
        with pytest.raises(DelticError, match=r"table or view `spark_catalog`.`shop`.`none` cannot be found"):
            pipeline.table("none", source=External("spark", table="spark_catalog.shop.none"))
    finally:
        spark.sql("DROP DATABASE shop CASCADE")


def test_names_of_tables():
    names = ("shop-1.sale", "`shop-1`.sale", "cat.`a.b`.c", "delta.`/tmp/a``b`", "sale")
    quoted = ["`shop-1`.`sale`", "`shop-1`.`sale`", "`cat`.`a.b`.`c`", "`delta`.`/tmp/a``b`", "`sale`"]
    assert [quoted_table(name) for name in names] == quoted
    for name in ("", "shop.", "shop..sale", "`shop", "a`b"):
        with pytest.raises(CatalogError, match="is no name of a table; write parts with dots between them"):
            quoted_table(name)


def test_a_temporary_view_is_what_was_published(spark):
    pipeline = deltic.Pipeline(spark)
    pipeline.sql(
        "CREATE TABLE sale (shop STRING); CREATE VIEW sold AS SELECT shop, count(*) AS n FROM sale GROUP BY shop"
    )
    pipeline.publish("sold", External("spark", table="published"))

    def refreshed(*shops):
        with pipeline.transaction() as change:
            change.insert("sale", [(shop,) for shop in shops])
        told = pipeline.refresh().published["sold to spark published"].how
        return told, sorted(map(tuple, spark.table("published").collect()))

    assert refreshed("a") == ("rebuilt", [("a", 1)])
    assert refreshed() == ("unchanged", [("a", 1)])
    assert refreshed("b") == ("rebuilt", [("a", 1), ("b", 1)])
    spark.catalog.dropTempView("published")
    assert refreshed() == ("rebuilt", [("a", 1), ("b", 1)])
    spark.range(3).createOrReplaceTempView("published")
    assert refreshed() == ("rebuilt", [("a", 1), ("b", 1)])
    assert pipeline.refresh().report is None


def test_a_driver_that_is_not_there_is_told(spark):
    pipeline = deltic.Pipeline(spark)
    source = External("database", url="jdbc:none://there/shop", table="sale")
    with pytest.raises(DelticError, match=r"sale: java.sql.SQLException: No suitable driver; put its jar into"):
        pipeline.table("sale", source=source)
