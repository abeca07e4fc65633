"""Writes rows to files through a Spark session: a folder of part files for each relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.executors.spark.job_descriptions import described
from deltic.engine.executors.spark.stalled_jobs import watched
from deltic.errors import DelticError
from deltic.pipeline.io.arrow_writer import slices
from deltic.pipeline.io.target import RowTarget, clear
from deltic.pipeline.spark.spark import spark_errors, to_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The rows that are sent to the session at once, so that it need not hold a whole view in memory.
_SLICE = 4 << 20
# Up to this many rows, one part file is enough.
_SMALL = 1 << 18


class SparkWriter:
    """Writes with the tasks of a Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def write(self, rows: pa.Table, target: RowTarget) -> None:
        """Write the rows to a folder at the target's path."""
        if target.format == "arrow":
            raise DelticError(f"{target.path}: Spark writes no Arrow files; take --format parquet")
        clear(target.path)
        description = described(self._spark, f"Deltic: {len(rows):,} rows to {target.path}", is_part=True)
        failing = spark_errors(lambda reason: DelticError(f"Spark cannot write {target.path}: {reason}"))
        with description, failing, watched(self._spark):
            for part in slices(rows, _SLICE) if len(rows) else [rows]:
                self._append(part, target)

    def _append(self, rows: pa.Table, target: RowTarget) -> None:
        path = f"file://{target.path.resolve()}"
        header = target.header(WEIGHT in rows.column_names)
        is_parquet = target.format == "parquet"
        frame = to_dataframe(self._spark, rows) if is_parquet else self._lines(rows, target, header)
        if header or len(rows) <= _SMALL:
            frame = frame.coalesce(1)
        writer = frame.write.mode("append")
        if is_parquet:
            writer.parquet(path)
        else:
            writer.text(path, compression="gzip" if target.is_compressed else None)

    def _lines(self, rows: pa.Table, target: RowTarget, header: list[str]) -> DataFrame:
        """Return one column of lines. The header, if any, comes first in the only part file."""
        chunks = [pa.array(header, pa.string()), *target.lines(rows).chunks]
        return self._spark.createDataFrame(pa.table({"value": pa.chunked_array(chunks, pa.string())}))
