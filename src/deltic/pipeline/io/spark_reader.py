"""Rows from files through a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.errors import DataError, Diagnostic
from deltic.pipeline.io import spark_json, spark_text
from deltic.pipeline.io.arrow_reader import ArrowReader, wanted_columns
from deltic.pipeline.io.columns import conform
from deltic.pipeline.io.layout import Kind
from deltic.pipeline.io.lines import diagnose
from deltic.pipeline.io.locate import Files
from deltic.pipeline.io.parsed import Batch
from deltic.pipeline.io.spark_lines import LINE_ID, header_ids, numbering, scan, spark_pattern
from deltic.pipeline.spark import quoted, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkReader:
    """Reads in the tasks of a Spark session and collects the rows."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def read(self, files: Files, limit: int | None) -> Batch:
        """The rows of the files, and findings for at most `limit` + 1 of the malformed ones (None: for all).

        Raises DataError when a file as a whole cannot hold rows of the table.
        """
        if not files.paths:
            return ArrowReader().read(files, limit)
        read = self._read_parquet if files.layout.kind is Kind.PARQUET else self._read_lines
        file = str(files.paths[0])
        with spark_errors(lambda reason: DataError([Diagnostic(f"Spark cannot read the file: {reason}", file)])):
            return read(files, limit)

    def _read_lines(self, files: Files, limit: int | None) -> Batch:
        layout, lines = files.layout, scan(self._spark, files.paths)
        if layout.headers:
            lines = lines.where(~lines[LINE_ID].isin(header_ids(lines)))
        collect_rows = spark_text.collect_rows if layout.kind is Kind.TEXT else spark_json.collect_rows
        table, bad = collect_rows(lines, layout)
        return Batch(table, tuple(self._diagnose(bad, files, limit)) if bad else ())

    def _diagnose(self, bad: list[int], files: Files, limit: int | None) -> list[Diagnostic]:
        """What is wrong with the lines of these ids, in the order of files and lines."""
        lines = scan(self._spark, files.paths)
        numbers = numbering(lines, files.paths)
        places = {line_id: numbers.place(line_id) for line_id in bad}
        first = sorted(places, key=places.__getitem__)[: None if limit is None else limit + 1]
        raw = self._raw_lines(lines, first)
        return [
            diagnose(raw[line_id], files.layout, str(files.paths[file]), number)
            for line_id in first
            for file, number in [places[line_id]]
        ]

    def _raw_lines(self, lines: DataFrame, ids: list[int]) -> dict[int, bytes]:
        """The lines of these ids, as they stand in their files."""
        from pyspark.sql import functions as f

        wanted = f.broadcast(self._spark.createDataFrame(pa.table({LINE_ID: pa.array(ids, pa.int64())})))
        found = lines.join(wanted, LINE_ID).select(LINE_ID, lines["value"].cast("binary").alias("raw")).toArrow()
        return dict(zip(found[LINE_ID].to_pylist(), found["raw"].to_pylist(), strict=True))

    def _read_parquet(self, files: Files, limit: int | None) -> Batch:
        wanted = [wanted_columns(path, files.layout) for path in files.paths]
        frame = self._spark.read.parquet(*(spark_pattern(path) for path in files.paths))
        parsed = conform(frame.select(*map(quoted, wanted[0])).toArrow(), files.layout)
        rejects = ArrowReader().read(files, limit).rejects if parsed.bad else ()
        return Batch(parsed.table, rejects)
