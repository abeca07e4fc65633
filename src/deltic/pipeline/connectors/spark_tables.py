"""Tables by the names that Spark's catalog knows, read by Spark's own connectors.

Tables of Delta and Iceberg are read by what changed; all others are compared as a whole.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from deltic.catalog import CatalogTable, External
from deltic.circuit.tables import WEIGHT
from deltic.engine.image import Json
from deltic.errors import CatalogError, DataError, DelticError, Diagnostic
from deltic.pipeline.connectors.frames import FrameSource
from deltic.pipeline.connectors.source import ExternalSource, HeldRows, RowsOfSource, SourceChange
from deltic.pipeline.connectors.tasks import Tasks
from deltic.pipeline.connectors.versions import VersionedSource, by_tasks
from deltic.pipeline.rows.posting import PostedRows, posted_by
from deltic.pipeline.spark.spark import active_session, arrow_schema_of, quoted, quoted_table, spark_errors
from deltic.values.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMAT, _LOCATION, _NAME = "Provider", "Location", "Name"
_KIND = "_change_type"
_INSERTS = ("insert", "update_postimage")
_ROW = ("__row_id__", "__row_version__")
"""The columns that identify a row of a Delta table, and its last change."""


@dataclass(frozen=True)
class SparkTable:
    """A table or view of a session, by its name in SQL."""

    spark: SparkSession
    name: str

    def read(self, part: str = "", options: Mapping[str, Any] = MappingProxyType({})) -> DataFrame:
        """Return its rows, or those of a part such as `.changes`, with options of its connector."""
        return self.spark.read.options(**options).table(self.name + part)

    def refresh(self) -> None:
        """Let the session forget what it knows of the table: other processes may have written it."""
        self.spark.catalog.refreshTable(self.name)

    def details(self) -> dict[str, str]:
        """Return what DESCRIBE says below the columns; nothing for a temporary view."""
        lines = [(line[0], line[1]) for line in self.sql("DESCRIBE TABLE EXTENDED")]
        start = next((place for place, line in enumerate(lines) if line[0] == "# Detailed Table Information"), None)
        return {} if start is None else dict(lines[start + 1 :])

    def is_called(self, name: str) -> bool:
        """Return whether this is a table's own name, with or without its catalog; that of a branch is longer."""
        return f".{name.lower()}".endswith("." + self.name.replace("`", "").lower())

    def properties(self) -> dict[str, str]:
        """Return its table properties."""
        return {line[0]: line[1] for line in self.sql("SHOW TBLPROPERTIES")}

    def sql(self, statement: str, rest: str = "") -> Any:
        """Return the result of a statement about it."""
        return self.spark.sql(f"{statement} {self.name} {rest}").collect()


def spark_source(place: External, spark: Any, tasks: Tasks | None) -> ExternalSource:
    """Return the source for a table of Spark's catalog."""
    table = SparkTable(active_session(spark), quoted_table(place["table"]))
    with spark_errors(lambda reason: CatalogError(f"{place}: {reason}")):
        details = table.details()
        format_ = details.get(_FORMAT, "").lower()
        if format_:
            table.refresh()
        if format_ == "delta":
            return SparkDelta(place, tasks, table)
        if format_ == "iceberg" and table.is_called(details.get(_NAME, "")) and _SNAPSHOT in table.properties():
            return SparkIceberg(place, tasks, table)
    reason = _WITHOUT_VERSIONS.get(format_, f"a table of {format_} has no versions")
    return FrameSource(place, table.read, tasks, reason)


_WITHOUT_VERSIONS = {"": "a view has no versions", "iceberg": "a branch, or a part of a table, has no changelog"}


@dataclass(frozen=True)
class _Version:
    """A version of a table, and the properties that it has."""

    id: str
    number: Any
    properties: Mapping[str, str]


class SparkVersions(VersionedSource):
    """A table with versions, which Spark's connector reads."""

    def __init__(self, place: External, tasks: Tasks | None, outside: SparkTable) -> None:
        super().__init__(place, tasks)
        self._outside = outside

    def columns(self) -> Schema:
        with self.errors():
            return Schema.of_arrow(arrow_schema_of(self._outside.read()))

    def errors(self) -> AbstractContextManager[None]:
        return spark_errors(lambda reason: DataError([Diagnostic(f"the table cannot be read: {reason}", self._label)]))

    def position_of(self, now: _Version) -> Json:
        return {"id": now.id, self.unit: now.number}

    @abstractmethod
    def open_table(self) -> _Version:
        """Return the present version."""

    @abstractmethod
    def changes(self, table: CatalogTable, before: int, now: _Version) -> tuple[str, DataFrame] | str:
        """Return the rows with weights that lead from a version to another, and how; or why they cannot be had."""

    def changes_since(
        self, table: CatalogTable, position: Json, now: _Version, at: Json, held: HeldRows
    ) -> SourceChange | str:
        if position[self.unit] is None:
            return f"there was no {self.unit}"
        try:
            with self.errors():
                made = self.changes(table, position[self.unit], now)
                if isinstance(made, str):
                    return made
                return self._read(table, made[1], at, f"{made[0]} of {self._span(position, at)}")
        except DelticError as error:
            return next(iter(str(error).splitlines())).removeprefix(f"table {table.name}: ")

    def all_rows(self, table: CatalogTable, now: _Version, at: Json, held: HeldRows) -> SourceChange:
        return self.compared(table, self.version(now.number), held)

    def version(self, number: int | None) -> DataFrame:
        """Return the rows of a version."""
        return self._outside.read(options={"versionAsOf": number})

    def compared(self, table: CatalogTable, frame: DataFrame, held: HeldRows) -> SourceChange:
        """Return the changes by which the rows of a DataFrame replace those of the table."""
        return FrameSource(self._place, lambda: frame, self._tasks).new(table, {}, held, True)

    def _read(self, table: CatalogTable, frame: DataFrame, at: Json, how: str) -> SourceChange:
        """Return the changes by rows with weights."""
        reader = PostedRows(table.name, table.schema, None, coerce=self._place.is_on("coerce"))
        if (posted := posted_by(reader, frame, table, self._tasks.sites)) is not None:
            return by_tasks(posted, at, how)
        rows = RowsOfSource(table, self._place)
        changes = rows(frame, signed=True)
        return SourceChange(changes, at, how, len(changes), rounded=rows.taken())


_OF_COLUMNS = re.compile("COLUMN|RESTORE|CLONE")
"""Operations of Delta that may give rows other values in a column of the same name."""


class SparkDelta(SparkVersions):
    """A Delta table, by its change data feed, or by the ids of rows and the versions that wrote them."""

    def open_table(self) -> _Version:
        detail, version = self._outside.sql("DESCRIBE DETAIL")[0], self._outside.sql("DESCRIBE HISTORY", "LIMIT 1")[0]
        return _Version(detail["id"], version["version"], detail["properties"])

    def changes(self, table: CatalogTable, before: int, now: _Version) -> tuple[str, DataFrame] | str:
        names = [quoted(name) for name in table.schema.names]
        if _is_on(now, "delta.enableChangeDataFeed"):
            span = {"startingVersion": before + 1, "endingVersion": now.number}
            feed = self._outside.read(options={"readChangeFeed": "true", **span})
            return "change feed", _weighted(feed).select(*names, WEIGHT)
        if not _is_on(now, "delta.enableRowTracking"):
            return "it has neither a change data feed nor row tracking"
        done = {line["operation"] for line in self._outside.sql("DESCRIBE HISTORY", f"LIMIT {now.number - before}")}
        if other := [name for name in sorted(done) if _OF_COLUMNS.search(name)]:
            return f"row tracking does not show {other[0]}"
        return "row tracking", self._by_row_ids(names, before, now)

    def _by_row_ids(self, names: list[str], before: int, now: _Version) -> DataFrame:
        """Return the rows of each version that the other one does not have, in the same state."""
        from pyspark.sql.functions import col, lit

        row = [
            col(f"_metadata.{name}").alias(to) for name, to in zip(("row_id", "row_commit_version"), _ROW, strict=True)
        ]
        were, are = (self.version(number).select(*names, *row) for number in (before, now.number))
        come, go = (
            are.join(were.select(*_ROW), [*_ROW], "left_anti"),
            were.join(are.select(*_ROW), [*_ROW], "left_anti"),
        )
        weighted = [
            frame.select(*names, lit(weight).cast("long").alias(WEIGHT)) for frame, weight in ((come, 1), (go, -1))
        ]
        return weighted[0].unionAll(weighted[1])


_SNAPSHOT = "current-snapshot-id"


class SparkIceberg(SparkVersions):
    """An Iceberg table, by the changelog of its snapshots."""

    unit = "snapshot"

    def open_table(self) -> _Version:
        properties = self._outside.properties()
        number = properties[_SNAPSHOT]
        return _Version(
            self._outside.details().get(_LOCATION, ""), int(number) if number != "none" else None, properties
        )

    def changes(self, table: CatalogTable, before: int, now: _Version) -> tuple[str, DataFrame] | str:
        from pyspark.sql.functions import col
        from pyspark.sql.functions import sum as total

        span = {"start-snapshot-id": before, "end-snapshot-id": now.number}
        log = self._outside.read(".changes", span)
        names = [col(quoted(name)) for name in table.schema.names]
        rows = _weighted(log).groupBy(*names).agg(total(WEIGHT).alias(WEIGHT))
        return "changelog", rows.where(col(WEIGHT) != 0)

    def all_rows(self, table: CatalogTable, now: _Version, at: Json, held: HeldRows) -> SourceChange:
        present = self._outside.read()
        frame = present.where("false") if now.number is None else self.version(now.number)
        if frame.schema == present.schema:
            return self.compared(table, frame, held)
        # A snapshot has the columns of its time, and the table has others since then.
        result = self.compared(table, present, held)
        self._outside.refresh()
        if self.position_of(self.open_table()) != at:
            raise DataError([Diagnostic("the table changed while it was read; refresh again", self._label)])
        return result


def _is_on(version: _Version, name: str) -> bool:
    return version.properties.get(name, "").lower() == "true"


def _weighted(changes: DataFrame) -> DataFrame:
    """Return changes with weights for their kinds."""
    from pyspark.sql.functions import col, lit, lower, when

    weight = when(lower(col(_KIND)).isin(*_INSERTS), lit(1)).otherwise(lit(-1)).cast("long")
    return changes.select("*", weight.alias(WEIGHT))
