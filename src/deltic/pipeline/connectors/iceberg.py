"""Iceberg tables as sources, by the package pyiceberg, which needs no Java."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.catalog import CatalogTable, External
from deltic.engine.batches import with_weights
from deltic.engine.image import Json
from deltic.errors import DataError, Diagnostic
from deltic.extras import required
from deltic.passwords import cause, redacted_reason
from deltic.pipeline.connectors.source import HeldRows, RowsOfSource, SourceChange, filled, nothing
from deltic.pipeline.connectors.tasks import ReadUnit
from deltic.pipeline.connectors.versions import VersionedSource
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.engine.files.files import Files

# Files of rows, each with its files of deletions, by the names of all of them.
Scans = Mapping[tuple[str, ...], Any]


class IcebergSource(VersionedSource):
    """A table of a catalog. The files of two snapshots determine the changes.

    A file whose deletions changed is read before and after. If a snapshot has expired, the whole table is compared.
    """

    unit = "snapshot"

    def columns(self) -> Schema:
        with self.errors():
            return Schema.of_arrow(_plain(self.open_table().schema().as_arrow()))

    def errors(self) -> AbstractContextManager[None]:
        return errors(self._place)

    def open_table(self) -> Any:
        options = {name: filled(self._place[name]) for name in ("uri", "warehouse") if self._place.get(name)}
        catalog = _pyiceberg("catalog").load_catalog(self._place.get("catalog") or "default", **options)
        return catalog.load_table(self._place["table"])

    def position_of(self, now: Any) -> Json:
        snapshot = now.current_snapshot()
        return {"id": str(now.metadata.table_uuid), "snapshot": None if snapshot is None else snapshot.snapshot_id}

    def changes_since(
        self, table: CatalogTable, position: Json, now: Any, at: Json, held: HeldRows
    ) -> SourceChange | str:
        before = position["snapshot"]
        if before is not None and now.snapshot_by_id(before) is None:
            return f"snapshot {before} has expired"
        try:
            were, are = _scans(now, before), _scans(now, at["snapshot"])
            come = [_unit(scan, 1) for key, scan in are.items() if key not in were]
            go = [_unit(scan, -1) for key, scan in were.items() if key not in are]
            return self._of_files(self._reader(table, now), come, go, at, f"files of {self._span(position, at)}")
        except OSError as error:
            return f"files of snapshot {before} cannot be read: {error}"

    def all_rows(self, table: CatalogTable, now: Any, at: Json, held: HeldRows) -> SourceChange:
        units = [_unit(scan, 1) for scan in _scans(now, at["snapshot"]).values()]
        return self._of_all(self._reader(table, now), units, at, held)

    def _reader(self, table: CatalogTable, now: Any) -> _Reader:
        return _Reader(now.metadata_location, dict(now.io.properties), self._place, RowsOfSource(table, self._place))


@dataclass(frozen=True)
class _File:
    """A unit of work: a file, as the package scans it, whose rows are inserted or deleted."""

    scan: Any
    weight: int


def _unit(scan: Any, weight: int) -> ReadUnit:
    return ReadUnit(_File(scan, weight), scan.file.file_size_in_bytes)


@dataclass(frozen=True)
class _Reader:
    """Reads files, in this process or in a task, by the table's metadata, which are a file, too."""

    metadata: str
    properties: Mapping[str, str]
    place: External
    rows: RowsOfSource

    def __call__(self, files: Files, units: Sequence[_File]) -> Iterator[tuple[pa.Table, Any]]:
        with errors(self.place):
            try:
                outside = self._table()
            except OSError:
                yield nothing(self.rows.table.schema), None
                return
            for rows, weight in self._parts(outside, units):
                yield with_weights(rows, weight), self.rows.taken()

    def parts(self, units: Sequence[_File]) -> Iterator[tuple[pa.Table, int]]:
        """Yield the rows of files, part by part, with the weight of each part."""
        return self._parts(self._table(), units) if units else iter(())

    def _table(self) -> Any:
        return _pyiceberg("table").StaticTable.from_metadata(self.metadata, dict(self.properties))

    def _parts(self, outside: Any, units: Sequence[_File]) -> Iterator[tuple[pa.Table, int]]:
        projected = outside.schema().select(*self.rows.table.schema.names)
        always = _pyiceberg("expressions").AlwaysTrue()
        scan = _pyiceberg("io.pyarrow").ArrowScan(outside.metadata, outside.io, projected, always)
        for weight in (1, -1):
            chosen = [unit.scan for unit in units if unit.weight == weight]
            for batch in scan.to_record_batches(chosen) if chosen else ():
                rows = pa.Table.from_batches([batch])
                yield self.rows(rows.cast(_plain(rows.schema))), weight


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


def _scans(table: Any, snapshot: int | None) -> Scans:
    """Return the files of a snapshot; none for a table without one."""
    if snapshot is None:
        return {}
    planned = table.scan(snapshot_id=snapshot).plan_files()
    return {(scan.file.file_path, *sorted(d.file_path for d in scan.delete_files)): scan for scan in planned}


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return the columns without the package's metadata, and without its large types for text."""
    return pa.schema([pa.field(f.name, _LARGE.get(f.type, f.type), f.nullable) for f in schema])


_LARGE = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
