"""Files of rows by Spark: its tasks read them as this process would, and write a folder of part files."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import of_stream, to_stream
from deltic.engine.executors.spark.job import collected
from deltic.engine.executors.spark.job_descriptions import described
from deltic.engine.executors.spark.stalled_jobs import watched
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.pipeline.io.blocks import STDIN
from deltic.pipeline.io.layout import FileLayout
from deltic.pipeline.io.locate import TableFiles
from deltic.pipeline.io.parsed import ParsedRows
from deltic.pipeline.io.splits import FileSplit, joined, read, splits
from deltic.pipeline.io.target import RowTarget, clear, slices
from deltic.pipeline.spark.spark import spark_errors, to_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SPLIT = 32 << 20


class SparkReader:
    """Reads in the tasks of a Spark session, which see the same paths, and collects the rows.

    Batches are sent as bytes, so that types that Spark does not have are unchanged.
    """

    def __init__(self, spark: SparkSession, split: int = _SPLIT) -> None:
        self._spark = spark
        self._split = split

    def read(self, files: TableFiles, limit: int | None) -> ParsedRows:
        """Return the rows of the files, and findings for at most `limit` + 1 malformed ones (None: for all).

        Raises DataError if a file as a whole cannot hold rows of the table.
        """
        if STDIN in files.paths:
            reason, remedy = "the tasks of Spark do not see standard input", "leave out --master, or name a file"
            raise DataError([Diagnostic(f"table {files.table}: {reason}", hint=remedy)])
        parts = list(splits(files, self._split))
        result = self._collect(parts, files.layout, limit) if parts else []
        return joined(result, files.layout, limit)

    def _collect(
        self, parts: Sequence[FileSplit], layout: FileLayout, limit: int | None
    ) -> Iterator[tuple[FileSplit, ParsedRows]]:
        file = parts[0].name
        with spark_errors(lambda reason: DataError([Diagnostic(f"Spark cannot read the file: {reason}", file)])):
            tasks = self._spark.range(0, len(parts), 1, len(parts)).mapInArrow(_task(parts, layout, limit), _PACKED_DDL)
            result = collected(tasks, f"Deltic: {len(parts)} parts of files from {file}")
        for split, packed in zip(result["split"].to_pylist(), result["batch"], strict=True):
            yield parts[split], _unpacked(packed.as_buffer())


_PACKED = pa.schema([pa.field("split", pa.int64()), pa.field("batch", pa.binary())])
_PACKED_DDL = "split bigint, batch binary"


def _task(
    parts: Sequence[FileSplit], layout: FileLayout, limit: int | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the task: it maps numbers of splits to their batches, up to the limit of malformed rows."""

    def run(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in numbers for number in batch["id"].to_pylist()):
            for packed in _packed(parts[number], layout, limit):
                yield pa.record_batch([pa.array([number]), pa.array([packed], pa.binary())], schema=_PACKED)

    return run


def _packed(split: FileSplit, layout: FileLayout, limit: int | None) -> Iterator[bytes]:
    """Yield the batches of a split as bytes; at the end, the error if it cannot be read."""
    rejected = 0
    try:
        for batch in read(split, layout):
            yield pickle.dumps((to_stream(batch.table).to_pybytes(), batch.rejects, batch.lines))
            rejected += len(batch.rejects)
            if limit is not None and rejected > limit:
                return
    except DataError as error:
        yield pickle.dumps(error.diagnostics)


def _unpacked(packed: pa.Buffer) -> ParsedRows:
    """Return a batch that a task has sent, or raise its DataError."""
    match pickle.loads(packed):
        case (bytes(rows), tuple(rejects), int(lines)):
            return ParsedRows(of_stream(rows), rejects, lines)
        case diagnostics:
            raise DataError(diagnostics)


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
