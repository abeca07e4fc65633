"""Streaming DataFrames into tables: each micro-batch of Structured Streaming is one epoch, applied exactly once.

The last applied micro-batch is a position of its epoch (`Pipeline.positions`), so that batch and epoch are one step: a
repeated batch is recognized, and a batch that does not continue the state is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.spark.job_descriptions import described, is_connect
from deltic.errors import DelticError, StreamError
from deltic.pipeline.names import find
from deltic.pipeline.rows.posting import Sites
from deltic.pipeline.spark.spark import is_dataframe, spark_errors
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
        _check_streaming(frame, self.table)
        has_signs = self.form(frame).kind is not StreamKind.ROWS
        if is_connect(frame):
            from deltic.pipeline.streaming.on_connect import BatchWriter

            return BatchWriter(frame, self)  # type: ignore[return-value]
        from deltic.pipeline.streaming.writer import TableWriter

        return TableWriter(frame, has_signs).foreachBatch(self.apply)

    def form(self, frame: DataFrame) -> StreamForm:
        """Return how a DataFrame encodes changes of the table, as that is defined now."""
        catalog = self.pipeline.catalog
        derived = dict.fromkeys(catalog.view_schemas, "it is a view, and its rules alone change it")
        table = find(self.table, "table", catalog.shown_tables, derived)
        if (source := self.pipeline.sources.get(self.table)) is not None:
            raise StreamError(f"table {self.table} has the rows of {source}: let these change, and call `refresh`")
        if self.known is None or self.known.table != table:
            self.known = StreamForm.of(frame, table, self.order, self.coerce)
        return self.known

    def apply(self, frame: DataFrame, batch: int) -> None:
        """Apply a micro-batch of the query that calls this."""
        self.take(frame, frame.sparkSession.sparkContext.getLocalProperty(_QUERY) or "", batch)

    def take(self, frame: DataFrame, query: str, batch: int) -> None:
        """Apply a micro-batch as an epoch, or pass over one that was applied; raises StreamError."""
        is_known = comes_again(self.name, query, batch, self.last(), self.place)
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
            if comes_again(self.name, applied.query, applied.batch, self.last(), self.place):
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
        level = logging.WARNING if read.rejected else logging.INFO
        _LOG.log(level, "batch %d of stream %s: epoch %d: %s", applied.batch, self.name, report.epoch, report)

    def _pass_over(self, again: AppliedBatch) -> None:
        """Leave it at a batch that was applied, if it is the same; raises StreamError."""
        last = self.last()
        assert last is not None
        check_same(self.name, again, last)
        _LOG.info("batch %d of stream %s was applied before, and is passed over", again.batch, self.name)

    def last(self) -> AppliedBatch | None:
        """Return the last batch that was applied."""
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
    """Raise StreamError if it is no stream of a session of this process."""
    if not is_dataframe(frame):
        raise StreamError(f"table {table}: expected a streaming DataFrame of Spark, found {type(frame).__name__}")
    if not frame.isStreaming:  # type: ignore[attr-defined]
        raise StreamError(
            f"table {table}: the DataFrame is no stream, which spark.readStream makes; of one that is not, "
            f'`change.insert("{table}", df)` inserts the rows'
        )


_ANEW = (
    "or start again: with an empty table, another checkpointLocation and another name=, so that the query reads its "
    "source from the start"
)
_OPEN = "Open the state that has them"
_KEEP = "Keep the state, by Pipeline(state=DIRECTORY)"


@dataclass(frozen=True)
class AppliedBatch:
    """A micro-batch: the query whose checkpoint numbers it, its number, how many rows it has, and their digest.

    The digest is that of a set of rows in any order: the same batch comes in another order when it comes again.
    """

    query: str
    batch: int
    rows: int
    digest: int

    @staticmethod
    def key(stream: str) -> str:
        """Return the name of the position of a stream."""
        return f"stream {stream}"

    @classmethod
    def of(cls, stream: str, positions: Mapping[str, Any]) -> AppliedBatch | None:
        """Return the last batch of a stream that was applied; None where there was none."""
        result = positions.get(cls.key(stream))
        return None if result is None else cls(**result)

    def position(self, stream: str) -> dict[str, Any]:
        """Return the position of the epoch that the batch is."""
        return {self.key(stream): asdict(self)}


def comes_again(stream: str, query: str, batch: int, last: AppliedBatch | None, place: str | None) -> bool:
    """Return whether a batch was applied already; raises StreamError unless it is the last one that was, or the next.

    `place` is where the pipeline keeps its state, None for memory.
    """
    which = f"stream {stream}: batch {batch} of query {query}"
    kept_in = f"state {place}" if place else "this pipeline, whose state is in memory,"
    if last is None:
        if batch:
            raise StreamError(
                f"{which} comes first, and {kept_in} has none of the batches before it: their rows would be missing. "
                f"{_OPEN if place else _KEEP}, {_ANEW}"
            )
        return False
    if query != last.query:
        raise StreamError(
            f"{which} is of another query than the one whose batch {last.batch} {kept_in} has, {last.query}: what that "
            "has read would be applied twice. Go on with its checkpointLocation; or, where this query reads other "
            "rows, give it a name of its own: pipeline.stream(…, name=…)"
        )
    if batch > last.batch + 1:
        raise StreamError(
            f"{which} does not follow on batch {last.batch}, the last one that {kept_in} has: the state is older than "
            f"the checkpoint, and the batches between would be missing. {_OPEN}, {_ANEW}"
        )
    if batch < last.batch:
        raise StreamError(
            f"{which} comes again, and {kept_in} has all up to batch {last.batch}: the checkpoint is older than the "
            f"state. Go on with the checkpoint that belongs to it, {_ANEW}"
        )
    return batch == last.batch


def check_same(stream: str, again: AppliedBatch, last: AppliedBatch) -> None:
    """Raise StreamError where a batch that comes again has other rows than those that were applied."""
    if again != last:
        raise StreamError(
            f"stream {stream}: batch {again.batch} of query {again.query} comes again, with {again.rows:,} rows other "
            f"than the {last.rows:,} that were applied: the checkpoint is older than the state, or the query does not "
            "give the same rows twice, as with random numbers. Go on with the checkpoint that belongs to the state, "
            f"{_ANEW}"
        )
