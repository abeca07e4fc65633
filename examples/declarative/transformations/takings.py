"""A materialized view whose body is kept fresh by Deltic: a run reads the files of sales that are new, and no others.

Spark would compute the view from all sales in each run. Here its body is the folder that Deltic publishes: files that
did not change stay as they are, and Spark reads the result alone.
"""

import os
from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import deltic

DATA = Path(os.environ["SHOP_DATA"])
PROGRAM = Path(os.environ["SHOP_PROGRAM"])


@dp.materialized_view(comment="What each shop has taken in")
def takings() -> DataFrame:
    """The folder that a refresh leaves."""
    with deltic.Pipeline(state=DATA / "state", program=PROGRAM) as pipeline:
        pipeline.publish("takings", DATA / "takings")
        pipeline.refresh()
    spark = SparkSession.active()
    return spark.read.parquet(str((DATA / "takings").resolve()))
