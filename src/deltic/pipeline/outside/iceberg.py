"""Iceberg tables as sources, by the package pyiceberg, which needs no Java."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from deltic.catalog import External, Table
from deltic.circuit.types import Schema
from deltic.engine.comparing import difference
from deltic.engine.image import Json
from deltic.errors import DataError, DelticError, Diagnostic
from deltic.pipeline.outside.source import Found, Held, filled, nothing
from deltic.pipeline.rows.coerce import to_table

# A file of rows with the files that say which of its rows were deleted.
Tasks = Mapping[tuple[str, ...], Any]


class IcebergSource:
    """A table of a catalog. A position is its id and a snapshot: what came after it is told by the files of both.

    A file whose deleted rows are others now is read as it was and as it is. Where a snapshot has expired, the whole
    table is compared.
    """

    def __init__(self, place: External) -> None:
        self._place = place

    def columns(self) -> Schema:
        with self._errors():
            return Schema.of_arrow(_plain(self._table().schema().as_arrow()))

    def pending(self, position: Json) -> str:
        with self._errors():
            at = _position(self._table())
        if position is None or position["id"] != at["id"]:
            return f"all of snapshot {at['snapshot']}"
        return (
            "no snapshot"
            if position == at
            else f"what snapshot {at['snapshot']} has that {position['snapshot']} had not"
        )

    def new(self, table: Table, position: Json, held: Held, wants_all: bool) -> Found:
        with self._errors():
            now = self._table()
            at = _position(now)
            if position == at and not wants_all:
                return Found(nothing(table.schema), at, "no snapshot")
            is_known = position is not None and position["id"] == at["id"] and not wants_all
            if is_known and (found := self._of_files(table, position["snapshot"], now, at)) is not None:
                return found
            rows = _read(table, now, _tasks(now, at["snapshot"]).values())
        return Found(difference(rows, held()), at, "compared", len(rows))

    def _of_files(self, table: Table, before: int | None, now: Any, at: Json) -> Found | None:
        """The rows of files that came and went; None where the snapshot of before is no longer there."""
        if before is not None and now.snapshot_by_id(before) is None:
            return None
        try:
            were, are = _tasks(now, before), _tasks(now, at["snapshot"])
            come = [task for key, task in are.items() if key not in were]
            go = [task for key, task in were.items() if key not in are]
            came, went = _read(table, now, come), _read(table, now, go)
        except OSError:
            return None
        size = sum(task.file.file_size_in_bytes for task in (*come, *go))
        how = f"files of snapshots {before} to {at['snapshot']}"
        return Found(difference(came, went), at, how, len(came) + len(went), len(come) + len(go), size)

    def _table(self) -> Any:
        options = {name: filled(self._place[name]) for name in ("uri", "warehouse") if self._place.get(name)}
        catalog = _pyiceberg("catalog").load_catalog(self._place.get("catalog") or "default", **options)
        return catalog.load_table(self._place["table"])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turns what the package raises into a DataError."""
        failures = _failures()
        try:
            yield
        except failures as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise DataError([Diagnostic(f"the Iceberg table cannot be read: {reason}", str(self._place))]) from error


def _pyiceberg(module: str) -> Any:
    """A module of the package; raises DelticError where it is not installed."""
    try:
        return importlib.import_module(f"pyiceberg.{module}")
    except ImportError:
        raise DelticError(
            "Iceberg tables are read by the package pyiceberg: pip install 'deltic[iceberg]'; a catalog may need more, "
            "as in pyiceberg[sql-sqlite]"
        ) from None


def _failures() -> tuple[type[Exception], ...]:
    """What reading a table raises: by the package itself, by catalogs in databases, and by what it reads with."""
    found = [error for _, error in inspect.getmembers(_pyiceberg("exceptions"), inspect.isclass)]
    told = tuple(error for error in found if issubclass(error, Exception))
    with suppress(ImportError):
        told += (importlib.import_module("sqlalchemy.exc").SQLAlchemyError,)
    return (*told, pa.ArrowException, OSError, ValueError)


def _position(table: Any) -> Json:
    snapshot = table.current_snapshot()
    return {"id": str(table.metadata.table_uuid), "snapshot": None if snapshot is None else snapshot.snapshot_id}


def _tasks(table: Any, snapshot: int | None) -> Tasks:
    """What is to be read of a snapshot; nothing of a table without one."""
    if snapshot is None:
        return {}
    planned = table.scan(snapshot_id=snapshot).plan_files()
    return {(task.file.file_path, *sorted(d.file_path for d in task.delete_files)): task for task in planned}


def _read(table: Table, outside: Any, tasks: Iterable[Any]) -> pa.Table:
    """The rows of files, by the present columns."""
    chosen = list(tasks)
    if not chosen:
        return table.schema.to_arrow().empty_table()
    projected = outside.schema().select(*table.schema.names)
    scan = _pyiceberg("io.pyarrow").ArrowScan(
        outside.metadata, outside.io, projected, _pyiceberg("expressions").AlwaysTrue()
    )
    rows = scan.to_table(chosen)
    found: pa.Table = to_table(table.name, table.schema, rows.cast(_plain(rows.schema)))
    return found


def _plain(schema: pa.Schema) -> pa.Schema:
    """The columns without what the package says of them, and without the large types that it takes for texts."""
    return pa.schema([pa.field(f.name, _LARGE.get(f.type, f.type), f.nullable) for f in schema])


_LARGE = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
