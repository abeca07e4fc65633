"""Rows to files through a Spark session: for each relation a folder of part files."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.pipeline.io.arrow_writer import slices
from deltic.pipeline.io.spark_lines import spark_path
from deltic.pipeline.io.target import Target
from deltic.pipeline.spark import to_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What crosses into the session at once, so that its memory does not have to hold a view as a whole.
_SLICE = 4 << 20


class SparkWriter:
    """Writes with the tasks of a Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def write(self, rows: pa.Table, target: Target) -> None:
        """Write the rows to a folder at the target's path."""
        if target.path.is_file():
            target.path.unlink()
        elif target.path.is_dir():
            shutil.rmtree(target.path)
        for part in slices(rows, _SLICE) if len(rows) else [rows]:
            self._append(part, target)

    def _append(self, rows: pa.Table, target: Target) -> None:
        path = spark_path(target.path)
        if target.format == "parquet":
            to_dataframe(self._spark, rows).write.mode("append").parquet(path)
        else:
            self._lines(rows, target).write.mode("append").text(path)

    def _lines(self, rows: pa.Table, target: Target) -> DataFrame:
        lines = target.lines(rows).cast(pa.string())
        header = target.header("__weight__" in rows.column_names)
        chunks = [*([pa.array(header, pa.string())] if header else []), *pa.chunked_array(lines).chunks]
        frame = self._spark.createDataFrame(pa.table({"value": pa.chunked_array(chunks, pa.string())}))
        return frame.coalesce(1) if header else frame
