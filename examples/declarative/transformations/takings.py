"""A view that Deltic keeps fresh, beside one of Spark's own that reads it."""

import os
from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import deltic

DATA = Path(os.environ["SHOP_DATA"])
PROGRAM = Path(os.environ["SHOP_PROGRAM"])


@deltic.materialized_view(DATA / "takings", comment="What each shop has taken in")
def takings() -> deltic.Pipeline:
    """The pipeline that has the view: a run reads the files of new sales, and writes the changes."""
    return deltic.Pipeline(state=DATA / "state", program=PROGRAM)


@dp.materialized_view
def best() -> DataFrame:
    """The shops with most sales, computed by Spark."""
    return SparkSession.active().table("takings").orderBy("sales", ascending=False).limit(3)
