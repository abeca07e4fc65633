"""Iceberg tables as sources, by the package pyiceberg, which needs no Java."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.catalog import CatalogTable, External
from deltic.engine.batches import with_weights
from deltic.engine.comparing import difference
from deltic.engine.image import Json
from deltic.errors import DataError, Diagnostic
from deltic.extras import required
from deltic.passwords import cause, redacted_reason
from deltic.pipeline.connectors.source import HeldRows, RowsOfSource, SourceChange, filled, new_columns, nothing
from deltic.pipeline.connectors.tasks import NO_TASKS, ReadUnit, Tasks
from deltic.pipeline.io.rounding import Rounding
from deltic.values.types import Column, Schema

if TYPE_CHECKING:
    from deltic.engine.executors.shards.staged_rows import StagedRows
    from deltic.engine.files.files import Files

# Files of rows, each with its files of deletions, by the names of all of them.
Scans = Mapping[tuple[str, ...], Any]


class IcebergSource:
    """A table of a catalog. A position is its id and a snapshot: the files of two snapshots determine the changes.

    A file whose deletions changed is read before and after. If a snapshot has expired, the whole table is compared.
    """

    def __init__(self, place: External, tasks: Tasks | None = None) -> None:
        self._place, self._tasks = place, tasks or NO_TASKS

    def columns(self) -> Schema:
        with errors(self._place):
            return Schema.of_arrow(_plain(self._table().schema().as_arrow()))

    def new_columns(self, table: CatalogTable, position: Json) -> dict[str, tuple[Column, str]]:
        return new_columns(table, {str(self._place): self.columns()})

    def pending(self, position: Json) -> str:
        with errors(self._place):
            at = _position(self._table())
        if position is None or position["id"] != at["id"]:
            return f"all of snapshot {at['snapshot']}"
        return (
            "no snapshot"
            if position == at
            else f"what snapshot {at['snapshot']} has that {position['snapshot']} had not"
        )

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        with errors(self._place):
            now = self._table()
            at = _position(now)
            if position == at and not wants_all:
                return SourceChange(nothing(table.schema), at, "no snapshot")
            is_known = position is not None and position["id"] == at["id"] and not wants_all
            if is_known and (result := self._of_files(table, position["snapshot"], now, at)) is not None:
                return result
            scans = list(_scans(now, at["snapshot"]).values())
            if (rows := self._written(table, now, scans, [])) is not None:
                how = "loaded by tasks" if held.is_empty else "compared, by tasks"
                changes, counts = self._tasks.compared(table, rows, held), (rows.count(), len(scans), _size(scans))
                return SourceChange(changes, at, how, *counts, rounded=Rounding.total(rows.report.about))
            read = RowsOfSource(table, self._place)
            present = _read(read, now, scans)
        return SourceChange(difference(present, held()), at, "compared", len(present), rounded=read.taken())

    def _of_files(self, table: CatalogTable, before: int | None, now: Any, at: Json) -> SourceChange | None:
        """Return the rows of files that were added and removed; None if the old snapshot no longer exists."""
        if before is not None and now.snapshot_by_id(before) is None:
            return None
        how = f"files of snapshots {before} to {at['snapshot']}"
        try:
            were, are = _scans(now, before), _scans(now, at["snapshot"])
            come = [scan for key, scan in are.items() if key not in were]
            go = [scan for key, scan in were.items() if key not in are]
            files = len(come) + len(go), _size([*come, *go])
            if (rows := self._written(table, now, come, go)) is not None:
                rounded = Rounding.total(rows.report.about)
                return SourceChange(rows, at, f"{how}, by tasks", rows.count(), *files, rounded=rounded)
            read = RowsOfSource(table, self._place)
            came, rounded, went = _read(read, now, come), read.taken(), _read(read, now, go)
        except OSError:
            return None
        return SourceChange(difference(came, went), at, how, len(came) + len(went), *files, rounded=rounded)

    def _written(self, table: CatalogTable, now: Any, come: Sequence[Any], go: Sequence[Any]) -> StagedRows | None:
        """Return the rows of files, written by tasks; None if this process must read them."""
        scans = [(scan, weight) for several, weight in ((come, 1), (go, -1)) for scan in several]
        shares = [ReadUnit(_File(scan, weight), scan.file.file_size_in_bytes) for scan, weight in scans]
        reader = _Reader(now.metadata_location, dict(now.io.properties), self._place, RowsOfSource(table, self._place))
        return self._tasks.read(table, shares, reader)

    def _table(self) -> Any:
        options = {name: filled(self._place[name]) for name in ("uri", "warehouse") if self._place.get(name)}
        catalog = _pyiceberg("catalog").load_catalog(self._place.get("catalog") or "default", **options)
        return catalog.load_table(self._place["table"])


@dataclass(frozen=True)
class _File:
    """A unit of work: a file, as the package scans it, whose rows are inserted or deleted."""

    scan: Any
    weight: int


@dataclass(frozen=True)
class _Reader:
    """Reads files in a task, by the table's metadata, which are a file, too."""

    metadata: str
    properties: Mapping[str, str]
    place: External
    rows: RowsOfSource

    def __call__(self, files: Files, shares: Sequence[_File]) -> Iterator[tuple[pa.Table, Any]]:
        with errors(self.place):
            try:
                outside = _pyiceberg("table").StaticTable.from_metadata(self.metadata, dict(self.properties))
            except OSError:
                yield nothing(self.rows.table.schema), None
                return
            for share in shares:
                for rows in _parts(self.rows, outside, [share.scan]):
                    yield with_weights(rows, share.weight), self.rows.taken()


@contextmanager
def errors(place: External) -> Iterator[None]:
    """Convert the package's errors to DataError."""
    failures = _failures()
    try:
        yield
    except failures as error:
        reason = redacted_reason(next(iter(str(error).splitlines()), type(error).__name__))
        raise DataError([Diagnostic(f"the Iceberg table cannot be read: {reason}", str(place))]) from cause(error)


def _pyiceberg(module: str) -> Any:
    """Return a module of the package. DelticError if it is not installed."""
    return required(f"pyiceberg.{module}", "an Iceberg table")


def _failures() -> tuple[type[Exception], ...]:
    """Return the errors of reading a table: those of the package, of catalogs in databases, and of libraries."""
    result = [error for _, error in inspect.getmembers(_pyiceberg("exceptions"), inspect.isclass)]
    exceptions = tuple(error for error in result if issubclass(error, Exception))
    with suppress(ImportError):
        exceptions += (importlib.import_module("sqlalchemy.exc").SQLAlchemyError,)
    return (*exceptions, pa.ArrowException, OSError, ValueError)


def _position(table: Any) -> Json:
    snapshot = table.current_snapshot()
    return {"id": str(table.metadata.table_uuid), "snapshot": None if snapshot is None else snapshot.snapshot_id}


def _scans(table: Any, snapshot: int | None) -> Scans:
    """Return the files of a snapshot; none for a table without one."""
    if snapshot is None:
        return {}
    planned = table.scan(snapshot_id=snapshot).plan_files()
    return {(scan.file.file_path, *sorted(d.file_path for d in scan.delete_files)): scan for scan in planned}


def _size(scans: Iterable[Any]) -> int:
    """Return the total size of files, in bytes."""
    return sum(scan.file.file_size_in_bytes for scan in scans)


def _read(read: RowsOfSource, outside: Any, scans: Iterable[Any]) -> pa.Table:
    """Return the rows of files, with the present columns."""
    return pa.concat_tables([read.table.schema.to_arrow().empty_table(), *_parts(read, outside, list(scans))])


def _parts(read: RowsOfSource, outside: Any, scans: Sequence[Any]) -> Iterator[pa.Table]:
    """Yield the rows of files, part by part."""
    projected = outside.schema().select(*read.table.schema.names)
    scan = _pyiceberg("io.pyarrow").ArrowScan(
        outside.metadata, outside.io, projected, _pyiceberg("expressions").AlwaysTrue()
    )
    for batch in scan.to_record_batches(scans) if scans else ():
        rows = pa.Table.from_batches([batch])
        yield read(rows.cast(_plain(rows.schema)))


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return the columns without the package's metadata, and without its large types for text."""
    return pa.schema([pa.field(f.name, _LARGE.get(f.type, f.type), f.nullable) for f in schema])


_LARGE = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
