"""Streams of Spark Connect: its server writes each micro-batch to files, and this process applies them.

Functions of a batch run in the server, which does not have the pipeline. So the query is one of Spark's file sink, in a
folder of its checkpoint. The log of that folder names the files of each batch, once they are complete. A thread of this
process reads the log and applies one batch after the other. The state knows the last one: after a crash of either
process, the next batch follows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Unfinished
from contextlib import suppress
from threading import Event, Thread
from typing import Any, NoReturn, Protocol

from pyspark.sql import DataFrame
from pyspark.sql.connect.streaming.query import StreamingQuery
from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

from deltic.engine.files.address import files_at
from deltic.errors import StreamError
from deltic.pipeline.spark.sink_log import LOG, files_of

_FOLDER = "deltic-batches"
# With Spark's default, the log would merge the entries of batches, and forget which belong together.
_MERGING, _NEVER = "spark.sql.streaming.fileSink.log.compactInterval", str(2**31 - 1)
_PAUSE = 0.05
"""Seconds between two looks for a batch."""


class AppliedUpTo(Protocol):
    """The last batch that was applied: its query and its number."""

    @property
    def query(self) -> str: ...

    @property
    def batch(self) -> int: ...


class BatchTaker(Protocol):
    """The stream whose batches are written; see `TableStream`."""

    name: str

    def last(self) -> AppliedUpTo | None:
        """Return the last batch that was applied."""

    def take(self, frame: DataFrame, query: str, batch: int) -> None:
        """Apply a batch."""


class BatchWriter(DataStreamWriter):
    """A writer whose query writes batches for this process."""

    def __init__(self, frame: Any, stream: BatchTaker) -> None:
        super().__init__(frame._plan, frame.sparkSession)
        self._frame, self._stream, self._checkpoint = frame, stream, ""

    def option(self, key: str, value: Any) -> DataStreamWriter:
        if key.lower() == "checkpointlocation":
            self._checkpoint = str(value).rstrip("/")
        return super().option(key, value)

    def partitionBy(self, *cols: Any) -> NoReturn:
        raise StreamError(f"stream {self._stream.name}: a table has no partitions")

    def start(self, *args: Any, **options: Any) -> AppliedQuery:
        """Start the query, and apply its batches. Raises StreamError without a checkpointLocation that all see."""
        self.options(**{name: options.pop(name) for name in list(options) if name not in _ARGUMENTS})
        if not self._checkpoint:
            raise StreamError(
                f"stream {self._stream.name}: the server and this process need a folder that both see: "
                'write .option("checkpointLocation", …)'
            )
        spark = self._frame.sparkSession
        before = spark.conf.get(_MERGING)
        spark.conf.set(_MERGING, _NEVER)
        try:
            query = super().start(**{**options, "path": f"{self._checkpoint}/{_FOLDER}", "format": "parquet"})
        finally:
            spark.conf.set(_MERGING, before)
        return AppliedQuery(query, Batches(self._checkpoint, self._frame), self._stream)


_ARGUMENTS = ("path", "format", "outputMode", "partitionBy", "queryName")


class Batches:
    """The micro-batches in a checkpoint."""

    def __init__(self, checkpoint: str, frame: DataFrame) -> None:
        self.place, self._files = checkpoint, files_at(checkpoint)
        self._spark, self._schema = frame.sparkSession, frame.schema

    def are_of(self, query: str) -> bool:
        """Return whether this process sees the checkpoint of a query."""
        try:
            return bool(json.loads(self._files.read("metadata"))["id"] == query)
        except FileNotFoundError:
            return False

    def names(self, number: int) -> list[str] | None:
        """Return the files of a batch; None if it is not complete."""
        try:
            return files_of(self._files.read(f"{_FOLDER}/{LOG}/{number}"))
        except FileNotFoundError:
            return None

    def rows(self, names: Sequence[str]) -> DataFrame:
        """Return the rows of files."""
        if not names:
            return self._spark.createDataFrame([], self._schema)
        return self._spark.read.schema(self._schema).parquet(*(f"{self.place}/{_FOLDER}/{name}" for name in names))

    def remove(self, names: Sequence[str]) -> None:
        """Remove files whose rows are in the state."""
        self._files.remove(*(f"{_FOLDER}/{each}" for name in names for each in (name, f".{name}.crc")))


class AppliedQuery(StreamingQuery):
    """A query whose batches are applied. It is active until it has ended and this process has applied all batches."""

    def __init__(self, query: StreamingQuery, batches: Batches, stream: BatchTaker) -> None:
        super().__init__(query._session, query.id, query.runId, query.name)
        self._batches, self._stream = batches, stream
        self._looks, self._is_stopped, self._end = 0, Event(), Future[None]()
        Thread(target=self._run, name=f"deltic stream {stream.name}", daemon=True).start()

    @property
    def isActive(self) -> bool:
        return not self._end.done()

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Wait for the end. Raises the error of a batch that was refused, or of the query."""
        try:
            self._end.result(timeout)
        except Unfinished:
            return False
        super().awaitTermination(timeout)
        return None if timeout is None else True

    def processAllAvailable(self) -> None:
        super().processAllAvailable()
        looks = self._looks
        while self.isActive and self._looks < looks + 2:
            time.sleep(_PAUSE)
        if not self.isActive:
            self._end.result()

    def stop(self) -> None:
        self._is_stopped.set()
        super().stop()
        self._end.exception()

    def exception(self) -> Any:
        return (None if self.isActive else self._end.exception()) or super().exception()

    def _run(self) -> None:
        """Apply batches until the end; an error stops the query."""
        try:
            self._apply_all()
        except BaseException as error:  # noqa: BLE001 - whoever waits for the end raises it
            with suppress(Exception):
                super().stop()
            self._end.set_exception(error)
        else:
            self._end.set_result(None)

    def _apply_all(self) -> None:
        if not self._batches.are_of(self.id):
            raise StreamError(
                f"stream {self._stream.name}: this process does not see the checkpoint that the server writes, "
                f"{self._batches.place}: name a folder that both see"
            )
        last = self._stream.last()
        number = last.batch + 1 if last is not None and last.query == self.id else 0
        while not self._is_stopped.is_set():
            is_active = super().isActive
            names = self._batches.names(number)
            if names is not None:
                self._stream.take(self._batches.rows(names), self.id, number)
                self._batches.remove(names)
                number += 1
            elif not is_active:
                return
            else:
                self._looks += 1
                self._is_stopped.wait(_PAUSE)
