"""What it takes to make a DataFrame of Spark of an Arrow table, and to run a job over it, in each way there is.

`python benchmarks/dataframes.py [--rows N ...]`: as part of the plan, in partitions from the memory of the driver, and
in a file that executors read; and the other way, to Arrow, through the driver and through files; and past it, through
the Python processes of executors, which `mapInArrow` takes. What is told is the least of three; the first job of each
size is not counted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import report

from deltic.pipeline.spark.session import spark_session
from deltic.pipeline.spark.spark import from_dataframe, to_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVERYTHING = 1 << 62
# Of more rows in a plan the driver's memory of Deltic's own sessions is not enough.
MOST_IN_PLANS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000, 4_000_000])
    options = parser.parse_args()
    with spark_session() as spark, tempfile.TemporaryDirectory() as scratch:
        table = [[f"{rows:,}", *_line(spark, rows, Path(scratch))] for rows in options.rows]
    header = ["rows", "plan: make", "job", "driver: make", "job", "file: make", "job"]
    header += ["to Arrow", "through Parquet", "mapInArrow"]
    notes = "Rows of two integers and a text; seconds. The job sums a column."
    report("dataframes", "Rows to Spark and back", header, table, notes)


def _line(spark: SparkSession, rows: int, scratch: Path) -> list[str]:
    table = pa.table({"k": np.arange(rows), "n": np.arange(rows) % 7, "s": [f"text {i % 1000}" for i in range(rows)]})
    ways: list[Callable[[], DataFrame] | None] = [
        (lambda: to_dataframe(spark, table, small=EVERYTHING)) if rows <= MOST_IN_PLANS else None,
        lambda: to_dataframe(spark, table, small=0),
        lambda: to_dataframe(spark, table, scratch, small=0),
    ]
    cells = [cell for way in ways for cell in (_made_and_summed(way) if way else ("", ""))]
    frame = spark.range(rows).selectExpr("id AS k", "id % 7 AS n", "concat('text ', id % 1000) AS s")
    return [
        *cells,
        f"{_least(lambda: from_dataframe(frame, 'rows')):.2f}",
        f"{_least(lambda: _read(frame, scratch)):.2f}",
        f"{_least(lambda: _mapped(frame)):.2f}",
    ]


def _made_and_summed(way: Callable[[], DataFrame]) -> tuple[str, str]:
    return f"{_least(way):.2f}", f"{_least(lambda: way().selectExpr('sum(n)').collect()):.2f}"


def _read(frame: DataFrame, scratch: Path) -> None:
    frame.write.mode("overwrite").parquet(f"file://{scratch}/read")
    pq.read_table(scratch / "read")


def _mapped(frame: DataFrame) -> None:
    frame.mapInArrow(lambda batches: batches, frame.schema).selectExpr("sum(n)").collect()


def _least(do: Callable[[], object]) -> float:
    def seconds() -> float:
        started = time.perf_counter()
        do()
        return time.perf_counter() - started

    do()
    return min(seconds() for _ in range(3))


if __name__ == "__main__":
    main()
