"""Streaming DataFrames into tables: each micro-batch of Structured Streaming is one epoch, applied exactly once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.spark.job_descriptions import described, is_connect
from deltic.errors import DelticError, StreamError
from deltic.pipeline.names import find
from deltic.pipeline.spark.posting import Sites
from deltic.pipeline.spark.spark import is_dataframe, spark_errors
from deltic.pipeline.streaming.applied import AppliedBatch, check_same, comes_again
from deltic.pipeline.streaming.forms import ReadBatch, StreamForm, StreamKind
from deltic.pipeline.streaming.rejected import OnErrors, rejects_of
from deltic.pipeline.watching import Watching

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOG = logging.getLogger("deltic.stream")
_QUERY = "sql.streaming.queryId"


@dataclass
class TableStream:
    """A stream into a table of a pipeline, by its name.

    `place` is where the state is kept, and `lock` one for all streams of the pipeline.
    """

    pipeline: Watching
    table: str
    name: str
    order: tuple[str, ...]
    conflicts: Conflicts | None
    place: str | None
    lock: Lock
    sites: Sites
    errors: OnErrors = "stop"
    coerce: bool = False
    known: StreamForm | None = None
    """The form of the stream, once it was found: its columns stay, and Spark takes its time to tell them."""

    def writer(self, frame: DataFrame) -> DataStreamWriter:
        """Spark's writer of a streaming DataFrame, each batch of which is applied."""
        from deltic.pipeline.streaming.writer import TableWriter

        _check_streaming(frame, self.table)
        return TableWriter(frame, self.form(frame).kind is not StreamKind.ROWS).foreachBatch(self.apply)

    def form(self, frame: DataFrame) -> StreamForm:
        """How a DataFrame encodes changes of the table, as that is defined now."""
        catalog = self.pipeline.catalog
        derived = dict.fromkeys(catalog.view_schemas, "it is a view, and its rules alone change it")
        table = find(self.table, "table", catalog.shown_tables, derived)
        if (source := self.pipeline.sources.get(self.table)) is not None:
            raise StreamError(f"table {self.table} has the rows of {source}: let these change, and call `refresh`")
        if self.known is None or self.known.table != table:
            self.known = StreamForm.of(frame, table, self.order, self.coerce)
        return self.known

    def apply(self, frame: DataFrame, batch: int) -> None:
        """Apply a micro-batch as an epoch, or pass over one that was applied; raises StreamError."""
        query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY) or ""
        is_known = comes_again(self.name, query, batch, self._last(), self.place)
        message = f"epoch {self.pipeline.epoch + (not is_known)}: batch {batch} of stream {self.name}"
        with described(frame.sparkSession, message), self._refusing(query, batch):
            form = self.form(frame)
            if is_known:
                self._pass_over(AppliedBatch(query, batch, *form.measured(frame)))
            else:
                read = form.read(frame, self.sites, self.errors == "table")
                self._commit(AppliedBatch(query, batch, read.rows, read.digest), read)

    def _commit(self, applied: AppliedBatch, read: ReadBatch) -> None:
        """Apply changes as one epoch with its position.

        Where Spark has stopped a query, its last batch may still be at work when the query that follows has it again:
        the one that is here first applies it.
        """
        with self.lock:
            if comes_again(self.name, applied.query, applied.batch, self._last(), self.place):
                self._pass_over(applied)
                return
            positions = applied.position(self.name)
            with self.pipeline.transaction(self.conflicts, positions=positions) as change:
                change.append(self.table, read.changes, read.rounded)
                if read.rejected:
                    epoch = self.pipeline.epoch + 1
                    rejected = [row.values(applied.batch, epoch) for row in read.rejected]
                    change.insert(rejects_of(self.table), rejected)
        report = change.report
        level = logging.WARNING if report.late or read.rejected else logging.INFO
        _LOG.log(level, "batch %d of stream %s: epoch %d: %s", applied.batch, self.name, report.epoch, report)

    def _pass_over(self, again: AppliedBatch) -> None:
        """Leave it at a batch that was applied, if it is the same; raises StreamError."""
        last = self._last()
        assert last is not None
        check_same(self.name, again, last)
        _LOG.info("batch %d of stream %s was applied before, and is passed over", again.batch, self.name)

    def _last(self) -> AppliedBatch | None:
        return AppliedBatch.of(self.name, self.pipeline.positions)

    @contextmanager
    def _refusing(self, query: str, batch: int) -> Iterator[None]:
        """Names the batch in what is raised about it."""
        which = f"stream {self.name}: batch {batch} of query {query}"
        try:
            with spark_errors(lambda reason: StreamError(f"it cannot be read: {reason}")):
                yield
        except DelticError as error:
            raise StreamError(
                f"{which} was refused; nothing of it was applied, and epoch {self.pipeline.epoch} is the last\n{error}"
            ) from None


def _check_streaming(frame: object, table: str) -> None:
    """Raises StreamError for what is no stream of a session of this process."""
    if not is_dataframe(frame):
        raise StreamError(f"table {table}: expected a streaming DataFrame of Spark, found {type(frame).__name__}")
    if is_connect(frame):
        raise StreamError(
            f"table {table}: Spark Connect runs what is done with each batch in its server, where this pipeline is "
            "not: run the pipeline in a process that has the driver, as SparkSession.builder.master(…) makes it"
        )
    if not frame.isStreaming:  # type: ignore[attr-defined]
        raise StreamError(
            f"table {table}: the DataFrame is no stream, which spark.readStream makes; of one that is not, "
            f'`change.insert("{table}", df)` inserts the rows'
        )
