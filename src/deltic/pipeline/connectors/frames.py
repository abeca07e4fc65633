"""Spark tables, tables by JDBC and DataFrames as sources, and views as temporary views of a Spark session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import CatalogTable, External
from deltic.catalog.external import JDBC
from deltic.engine.image import Json
from deltic.engine.keyed import UPSERT
from deltic.errors import CatalogError, DataError, DelticError, Diagnostic
from deltic.pipeline.connectors.advancing import Advance, check_change_column, pending, since
from deltic.pipeline.connectors.source import ExternalSource, HeldRows, RowsOfSource, SourceChange, filled
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark
from deltic.pipeline.connectors.tasks import Tasks
from deltic.pipeline.io.rounding import Rounding
from deltic.pipeline.rows.posting import PostedRows, posted_by
from deltic.pipeline.spark.spark import (
    active_session,
    arrow_schema_of,
    quoted,
    quoted_table,
    spark_errors,
    to_dataframe,
)
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FrameSource(ExternalSource):
    """A DataFrame, or a function that returns one. With a change column, a position is its greatest value."""

    def __init__(self, place: External, frame: Callable[[], DataFrame], tasks: Tasks | None, reason: str = "") -> None:
        """Read `frame`; `reason` says why not only its changes can be read, for the report."""
        super().__init__(place)
        self._frame, self._tasks, self._reason = frame, tasks, reason

    def columns(self) -> Schema:
        return Schema.of_arrow(arrow_schema_of(self._frame()))

    def pending(self, position: Json) -> str:
        return self._explained(pending(self._place, position))

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        result = self._new(table, position, held, wants_all)
        return result if held.is_empty or wants_all else replace(result, how=self._explained(result.how))

    def _explained(self, how: str) -> str:
        return f"{how}: {self._reason}" if self._reason else how

    def _new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        from pyspark.sql.functions import col, lit

        check_change_column(self._place, table)
        column, text = self._place.get("changed"), None if wants_all else since(position)
        frame, value = self._frame(), None
        if text is not None:
            value = pa.scalar(text).cast(table.schema.types[column].arrow).as_py()
            frame = frame.where((col(quoted(column)) >= lit(value)) | col(quoted(column)).isNull())
        chosen = frame.select(*map(quoted, table.schema.names))
        advance = Advance(table, self._place, position, value)
        with spark_errors(lambda reason: DataError([Diagnostic(f"table {table.name}: {self._place}: {reason}")])):
            if (result := self._by_tasks(chosen, advance, held)) is not None:
                return result
            read = RowsOfSource(table, self._place)
            rows = read(chosen)
        return advance.compared_here(rows, _largest(rows, column), held, read.taken())

    def _by_tasks(self, frame: DataFrame, advance: Advance, held: HeldRows) -> SourceChange | None:
        """Return the changes by rows that tasks have written; None if this process must read them."""
        if self._tasks is None:
            return None
        table, column, is_by_key = advance.table, self._place.get("changed"), advance.weight == UPSERT
        rows = posted_by(_Reader(advance, column), frame, table, self._tasks.sites, is_by_key)
        if rows is None:
            return None
        rounded = Rounding.total(each for _, each in rows.report.about)
        greatest = pa.array([text for text, _ in rows.report.about], pa.string())
        last = pc.max(greatest.cast(table.schema.types[column].arrow)).cast(pa.string()).as_py() if column else None
        return advance.compared_by(self._tasks, rows, last, held, rounded)


class _Reader(PostedRows):
    """Reads rows of a table, the greatest value of a change column, as text, and the rounded values."""

    def __init__(self, advance: Advance, column: str) -> None:
        table = advance.table
        of = table if advance.weight == UPSERT else None
        super().__init__(table.name, table.schema, advance.weight, of, advance.place.is_on("coerce"))
        self._column = column

    def read(self, rows: pa.Table, message: str, before: int) -> tuple[pa.Table, tuple[str | None, Any]]:
        result, rounded = super().read(rows, message, before)
        return result, (_largest(result, self._column), rounded)


def _largest(rows: pa.Table, column: str) -> str | None:
    """Return the greatest value of a change column, as text; None without a column, or without a value."""
    result: str | None = pc.max(rows.column(column)).cast(pa.string()).as_py() if column else None
    return result


def frame_source(place: External, given: Any, spark: Any, tasks: Tasks | None) -> FrameSource:
    """Return the source for a table of Spark or by JDBC, or for the DataFrame that was passed in this process."""
    read = {"spark": partial(_table, place, spark), "database": partial(_jdbc, place, spark)}
    return FrameSource(place, read.get(place.kind, partial(_given, given)), tasks)


def _table(place: External, spark: Any) -> DataFrame:
    with spark_errors(lambda reason: CatalogError(f"{place}: {reason}")):
        return active_session(spark).table(quoted_table(place["table"]))


def _jdbc(place: External, spark: Any) -> DataFrame:
    options = {name: filled(place[name]) for name in ("url", *JDBC) if place.get(name)} | {"dbtable": place["table"]}

    def failed(reason: str) -> CatalogError:
        return CatalogError(f"{place['table']}: {reason}{_REMEDY if 'No suitable driver' in reason else ''}")

    with spark_errors(failed):
        return active_session(spark).read.format("jdbc").options(**options).load()


_REMEDY = "; put its jar into spark.jars, and name its class with the option driver"


def _given(frame: Any) -> DataFrame:
    if frame is None:
        raise CatalogError(
            "the source is a DataFrame of another process, which no state can hold: attach it in this one, as in "
            'pipeline.attach("orders", frame); a Spark table is kept: External("spark", table="orders")'
        )
    result: DataFrame = frame
    return result


class SparkTarget:
    """A temporary view, which lasts as long as its session.

    It is rebuilt if the view has changed, or if the session has another or no view of that name.
    """

    def __init__(self, name: str, spark: Any) -> None:
        self._name, self._spark = name, spark

    def mark(self) -> TargetMark | None:
        mark, made = _MADE.get(self._name, (None, None))
        return mark if made is not None and self._shows(made) else None

    def publish(self, shown: PublishedView, delta: pa.Table | None) -> PublishedRows:
        if delta is not None and not len(delta):
            _MADE[self._name] = shown.mark, _MADE[self._name][1]
            return PublishedRows("unchanged")
        result, session = shown.rows(), active_session(self._spark)
        with spark_errors(lambda reason: DelticError(f"temporary view {self._name}: {reason}")):
            made = to_dataframe(session, result)
            made.createOrReplaceTempView(self._name)
        _MADE[self._name] = shown.mark, made
        return PublishedRows("rebuilt", len(result))

    def _shows(self, made: DataFrame) -> bool:
        """Return whether the session still has this view: it may have been dropped or replaced."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        session = active_session(self._spark)
        try:
            return session.table(self._name).sameSemantics(made)
        except (PySparkException, Py4JError):
            return False


_MADE: dict[str, tuple[TargetMark, DataFrame]] = {}
"""The last view made under each name, in some session, with its mark."""
