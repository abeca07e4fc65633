"""The data source "deltic" of Spark: views of a state in a directory, as they are, or their changes as a stream.

Spark calls it in processes of its own: one that plans, and on executors. Each opens the state for reading, at the epoch
of the plan. An offset of a stream is an epoch. The process that plans a stream follows the state: it gets the changes
of an epoch by replaying its record of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NoReturn, cast

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import of_stream, to_stream
from deltic.errors import DelticError, StateError, StreamError, UnsupportedError
from deltic.pipeline.following.following import FollowedState, definitions_of
from deltic.pipeline.io.layout import FEED
from deltic.pipeline.names import check_choice, find
from deltic.pipeline.rows.rows import without_weights
from deltic.pipeline.spark.spark import for_spark
from deltic.values.types import Schema, Type
from deltic.values.types.spark import spark_type

VERSION = "_commit_version"
FORMS = ("weight", "feed")
# The rows of one partition, unless numPartitions says otherwise.
_ROWS = 1 << 20
_BATCH = 1 << 16
SENT = 1 << 27
"""The most compressed bytes of a view with which a stream begins that are sent; executors read larger ones."""

Offset = dict[str, int | None]
"""{"epoch": N}: all up to epoch N was given; None for a stream that begins with the rows of the view."""


class DelticSource(DataSource):
    """`spark.read.format("deltic").load(DIRECTORY)` with the option `view`, and `spark.readStream` likewise."""

    @classmethod
    def name(cls) -> str:
        """Return what it is called in `format`."""
        return "deltic"

    def schema(self) -> StructType:
        """Return the columns of the view; a stream also has those that describe a change."""
        return self._asked.fields

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the rows as of an epoch."""
        return ViewReader(self._asked, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the changes."""
        return ChangeReader(self._asked, schema)

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        """Raise UnsupportedError: who writes a table is its pipeline."""
        raise UnsupportedError(
            'format("deltic") is read alone: rows come into a table by its pipeline, `change.insert("TABLE", df)` in a '
            'transaction, or pipeline.stream(df, into="TABLE")'
        )

    streamWriter = writer

    @property
    def _asked(self) -> StreamOptions:
        return StreamOptions({name.lower(): value for name, value in self.options.items()})


class StreamOptions:
    """What the options ask for; raises DelticError if something is absent."""

    _KNOWN = ("path", "view", "epoch", "since", "form", "functions", "maxrowspertrigger", "numpartitions")

    def __init__(self, options: dict[str, str]) -> None:
        for name in options:
            find(name, "option of the format deltic", dict.fromkeys(self._KNOWN))
        for needed, what in (("path", "the directory of a state, as in load(DIRECTORY)"), ("view", "a view or table")):
            if needed not in options:
                raise DelticError(f'format("deltic") needs {what}: option("{needed}", …)')
        self.place, self.view = options["path"], options["view"]
        self.epoch, self.since, self.most, self.parts = (
            _number(options, name) for name in ("epoch", "since", "maxrowspertrigger", "numpartitions")
        )
        self.form = options.get("form")
        if self.form is not None:
            check_choice(self.form, "form of changes", FORMS)
        self.functions: str | tuple[()] = options.get("functions", ())

    @cached_property
    def fields(self) -> StructType:
        """The columns of the view, and of a change where a form was asked for."""
        if self.epoch is None:
            catalog = definitions_of(self.place, self.functions).catalog
        else:
            catalog = FollowedState(self.place, self.epoch, self.functions).pipeline.catalog
        columns = find(self.view, "view or table", {**catalog.table_schemas, **catalog.view_schemas})
        return StructType([*_fields(self.view, columns), *_SIGNS.get(self.form or "", [])])

    def followed(self, epoch: int | None) -> FollowedState:
        """Return the state as of an epoch."""
        result = FollowedState(self.place, epoch, self.functions)
        find(self.view, "view or table", dict.fromkeys(result.pipeline))
        return result


_SIGNS = {
    "weight": [StructField(WEIGHT, LongType(), False)],
    "feed": [StructField(FEED, StringType(), False), StructField(VERSION, LongType(), False)],
}


def _fields(view: str, schema: Schema) -> Iterator[StructField]:
    for column in schema:
        if column.type is Type.YEAR_MONTH_INTERVAL:
            raise UnsupportedError(
                f"{view}, column {column.name}: Spark's Python data sources have no intervals of months; let a view "
                "have it as a number of months"
            )
        yield StructField(column.name, spark_type(column.type), column.nullable)


def _number(options: dict[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is not None and not text.isdecimal():
        raise DelticError(f'option("{name}", "{text}") of the format deltic: it is a number')
    return None if text is None else int(text)


class ViewReader(DataSourceReader):
    """A view as of one epoch, in this number of parts."""

    def __init__(self, asked: StreamOptions, schema: StructType) -> None:
        self._asked, self._schema = asked, schema

    def partitions(self) -> list[InputPartition]:
        """Return the parts of the view as of the epoch that was asked for, or the last one."""
        return _parts(self._asked, self._asked.followed(self._asked.epoch))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of a part, and their form, on an executor."""
        return _rows_of(self._asked, partition, self._schema)


class ChangeReader(DataSourceStreamReader):
    """How a view changes: its rows as of some epoch at first, or nothing, and then the changes of each epoch.

    It stands in a process of its own for as long as a query runs, with the state as of the last offset: a query that
    is slower than the writer continues with a difference. A restarted one needs the epoch of its checkpoint.
    """

    def __init__(self, asked: StreamOptions, schema: StructType) -> None:
        if asked.form is None:
            raise DelticError(
                'a stream of changes says of each row what it is: option("form", "weight") adds the column __weight__, '
                'option("form", "feed") the columns _change_type and _commit_version'
            )
        self._asked, self._schema = asked, schema
        self._followed: FollowedState | None = None

    def initialOffset(self) -> Offset:
        """Before the rows of the view, or after the epoch `since`."""
        return {"epoch": self._asked.since}

    def latestOffset(self, start: Offset | None = None, limit: Any = None) -> Offset:
        """Return the last epoch, or as far as `maxRowsPerTrigger` changes of tables go behind the start."""
        begun = None if start is None else start["epoch"]
        followed = self._at(begun)
        if begun is None or self._asked.most is None or followed.epoch <= begun:
            try:
                followed.go_on(rows=None if begun is None else self._asked.most)
            except StateError:
                if not followed.is_behind:
                    raise
                followed.catch_up(self._asked.view)
        return {"epoch": followed.epoch}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the parts of the view, which executors read, or the changes of some epochs themselves."""
        begun, reached = start["epoch"], cast(int, end["epoch"])
        if begun is None:
            now = self._followed
            return self._first(now if now is not None and now.epoch == reached else self._asked.followed(reached))
        followed = self._at(begun)
        if followed.epoch < reached:
            followed.go_on(reached)
        self._check_columns(followed, begun)
        rows = [
            _signed(change.to_arrow(), epoch, self._schema)
            for epoch, changes in sorted(followed.changes.items())
            if begun < epoch <= reached and (change := changes.batch(self._asked.view)) is not None
        ]
        return _sent(rows)

    def _first(self, followed: FollowedState) -> list[InputPartition]:
        """Return the rows of the view. Up to SENT bytes are sent, so that their epoch may go; else executors read."""
        parts, sent, size = _parts(self._asked, followed), list[InputPartition](), 0
        for number in range(len(parts)):
            rows = followed.part(self._asked.view, number, len(parts), counted=True)
            sent += (made := _sent([_signed(rows, followed.epoch, self._schema)]))
            size += sum(len(part.value) for part in made)
            if size * len(parts) > SENT * (number + 1):
                return parts
        return sent

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the changes of a part, on an executor."""
        if isinstance(partition.value, bytes):
            return iter(of_stream(partition.value).to_batches())
        return _rows_of(self._asked, partition, self._schema)

    def commit(self, end: Offset) -> None:
        """Forget changes up to there."""
        if self._followed is not None:
            self._followed.forget(cast(int, end["epoch"]))

    def _at(self, epoch: int | None) -> FollowedState:
        """Return the state, with what came after an epoch."""
        if self._followed is None or (epoch is not None and epoch < self._followed.begin):
            self._followed = self._asked.followed(epoch)
            if self._asked.view in self._followed.pipeline.tables:
                raise StreamError(f"{self._asked.view} is a table, and views are followed: define a view of its rows")
        return self._followed

    def _check_columns(self, followed: FollowedState, begun: int) -> None:
        """Raise StreamError where the view is another one by now than the stream began with, or was in between."""
        views, name = followed.pipeline.views, self._asked.view
        now = [*_fields(name, views[name]), *_SIGNS[self._asked.form or ""]] if name in views else []
        if StructType(now) != self._schema or followed.ended.get(name, 0) > begun:
            what = f"is another one now: {views[name]}" if now else "is gone"
            raise StreamError(
                f"view {name} {what}, since epoch {followed.epoch}; start a new query, with another checkpointLocation"
            )


def _parts(asked: StreamOptions, followed: FollowedState) -> list[InputPartition]:
    """Return the parts of a view as of the epoch that was reached."""
    count = followed.pipeline.snapshot().version.count(asked.view)
    parts = asked.parts or max(1, -(-count // _ROWS))
    return [InputPartition((followed.epoch, number, parts)) for number in range(parts)]


def _rows_of(asked: StreamOptions, partition: InputPartition, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Return the rows of one part of a view."""
    epoch, number, parts = partition.value
    rows = asked.followed(epoch).part(asked.view, number, parts, counted=asked.form is not None)
    signed = _signed(rows if asked.form else without_weights(rows, asked.view), epoch, schema)
    return iter(signed.to_batches(max_chunksize=_BATCH))


def _signed(rows: pa.Table, epoch: int, schema: StructType) -> pa.Table:
    """Rows with the columns by which the form of the schema describes a change, in Spark's types."""
    if FEED in schema.names:
        weights = np.asarray(rows.column(WEIGHT))
        rows = rows.take(pa.array(np.repeat(np.arange(len(rows)), np.abs(weights))))
        signs = np.repeat(np.where(weights > 0, "insert", "delete"), np.abs(weights))
        rows = rows.drop_columns([WEIGHT]).append_column(FEED, pa.array(signs, pa.string()))
        rows = rows.append_column(VERSION, pa.repeat(pa.scalar(epoch, pa.int64()), len(rows)))
    return for_spark(rows).cast(to_arrow_schema(schema, timezone="UTC"))


def _sent(tables: list[pa.Table]) -> list[InputPartition]:
    """Parts that have their rows with them."""
    rows = pa.concat_tables(tables) if tables else pa.table({})
    slices = (rows.slice(start, _ROWS) for start in range(0, len(rows), _ROWS))
    return [InputPartition(to_stream(part, _BATCH, "zstd").to_pybytes()) for part in slices]
