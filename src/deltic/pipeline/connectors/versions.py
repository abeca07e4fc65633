"""Sources whose tables have versions: a position is the id of a table and a version, or a snapshot, of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from deltic.catalog import CatalogTable, External
from deltic.engine.comparing import difference
from deltic.engine.image import Json
from deltic.pipeline.connectors.source import ExternalSource, HeldRows, SourceChange, nothing
from deltic.pipeline.connectors.tasks import NO_TASKS, ReadUnit, Tasks
from deltic.pipeline.io.rounding import Rounding

if TYPE_CHECKING:
    from deltic.engine.executors.shards.staged_rows import StagedRows

Units: TypeAlias = Sequence[ReadUnit]


class VersionedSource(ExternalSource):
    """A table of Delta or Iceberg. Without the changes since a version, the whole table is compared; `how` says why."""

    unit = "version"

    def __init__(self, place: External, tasks: Tasks | None = None) -> None:
        super().__init__(place)
        self._tasks = tasks or NO_TASKS

    def pending(self, position: Json) -> str:
        with self.errors():
            at = self.position_of(self.open_table())
        if not position or position.get("id") != at["id"]:
            return f"all of {self.unit} {at[self.unit]}"
        return f"no {self.unit}" if position == at else f"changes from {self._span(position, at)}"

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        with self.errors():
            now, reason = self.open_table(), ""
            at = self.position_of(now)
            if position and not wants_all:
                if position == at:
                    return SourceChange(nothing(table.schema), at, f"no {self.unit}")
                is_same = position.get("id") == at["id"]
                since = self.changes_since(table, position, now, at, held) if is_same else "the table is another one"
                if isinstance(since, SourceChange):
                    return since
                reason = f": {since}"
            result = self.all_rows(table, now, at, held)
        return replace(result, position=at, how=f"{result.how}{reason}")

    def _span(self, position: Json, at: Json) -> str:
        return f"{self.unit} {position[self.unit]} to {at[self.unit]}"

    @abstractmethod
    def errors(self) -> AbstractContextManager[None]:
        """Convert the library's errors to DataError."""

    @abstractmethod
    def open_table(self) -> Any:
        """Return the table as it is now."""

    @abstractmethod
    def position_of(self, now: Any) -> Json:
        """Return the `id` and the version of a table that is open."""

    @abstractmethod
    def changes_since(
        self, table: CatalogTable, position: Json, now: Any, at: Json, held: HeldRows
    ) -> SourceChange | str:
        """Return the changes from a version to the present one, or the reason why they cannot be had."""

    @abstractmethod
    def all_rows(self, table: CatalogTable, now: Any, at: Json, held: HeldRows) -> SourceChange:
        """Return the changes by which all rows replace those of the table."""

    def _of_files(
        self, read: Any, come: Sequence[ReadUnit], go: Sequence[ReadUnit], at: Json, how: str
    ) -> SourceChange:
        """Return the changes by files that came, and others that went; `read` has their rows."""
        units, table = [*come, *go], read.rows.table
        about = len(units), sum(unit.size for unit in units)
        if (posted := self._tasks.read(table, units, read)) is not None:
            return by_tasks(posted, at, how, *about)
        came = _rows(read, come)
        rounded, went = read.rows.taken(), _rows(read, go)
        return SourceChange(difference(came, went), at, how, len(came) + len(went), *about, rounded=rounded)

    def _of_all(self, read: Any, units: Units, at: Json, held: HeldRows) -> SourceChange:
        """Return the changes by which the rows of all units replace those of the table."""
        table = read.rows.table
        if (posted := self._tasks.read(table, units, read)) is not None:
            how = "loaded" if held.is_empty else "compared"
            told = by_tasks(posted, at, how, len(units), sum(unit.size for unit in units))
            return replace(told, changes=self._tasks.compared(table, posted, held))
        rows = _rows(read, units)
        return SourceChange(difference(rows, held()), at, "compared", len(rows), rounded=read.rows.taken())


def by_tasks(posted: StagedRows, at: Json, how: str, files: int = 0, size: int = 0) -> SourceChange:
    """Return the changes that tasks have written."""
    rounded = Rounding.total(posted.report.about)
    return SourceChange(posted, at, f"{how}, by tasks", posted.count(), files, size, rounded=rounded)


def _rows(read: Any, units: Units) -> pa.Table:
    """Return the rows of units, without weights."""
    empty = read.rows.table.schema.to_arrow().empty_table()
    return pa.concat_tables([empty, *(rows for rows, _ in read.parts([unit.what for unit in units]))])
