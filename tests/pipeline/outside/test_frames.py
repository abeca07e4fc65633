"""Tables over DataFrames, and over tables of Spark.

Catches rows that a change column leaves out, and a DataFrame of another process that is taken for an empty one.
"""

from __future__ import annotations

import pytest

import deltic
from deltic import CatalogError, External


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
        with pytest.raises(CatalogError, match="the source is a DataFrame of another process"):
            pipeline.refresh()
        pipeline.attach("given", frame)
        assert pipeline.refresh().sources["given"].inserted == 1
        told = repr(pipeline.sql("SHOW CREATE TABLE named"))
        assert told.endswith("USING spark OPTIONS (table 'orders', changed 'version')")
