"""Tables of databases as sources and as targets of views, by Python's interface.

A target gets changed rows and their epoch in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltic.catalog import CatalogTable, External
from deltic.circuit.tables import WEIGHT
from deltic.engine.comparing import difference
from deltic.engine.image import Json
from deltic.errors import CatalogError, DelticError, UnsupportedError
from deltic.pipeline.connectors.advancing import Advance, check_change_column, pending, since
from deltic.pipeline.connectors.connections import Database, connected, quoted, without_jdbc
from deltic.pipeline.connectors.database_columns import columns_of
from deltic.pipeline.connectors.source import ExternalSource, HeldRows, RowsOfSource, SourceChange
from deltic.pipeline.connectors.target import PublishedRows, PublishedView, TargetMark
from deltic.pipeline.io.json_values import of_json
from deltic.pipeline.io.rounding import RoundedValues
from deltic.pipeline.names import find
from deltic.pipeline.rows.coerce import to_table
from deltic.values.types import Kind, Schema, Type


class DatabaseQuery(ExternalSource):
    """A table that is read by a query. With a change column, a position is its greatest value, as the database returns
    it.
    """

    def columns(self) -> Schema:
        with self._connected() as database:
            return columns_of(database, self._place["table"])

    def pending(self, position: Json) -> str:
        return pending(self._place, position)

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        check_change_column(self._place, table)
        column, last = self._place.get("changed"), None if wants_all else since(position)
        where = "" if last is None else f"{quoted(column)} >= ? OR {quoted(column)} IS NULL"
        with self._connected() as database:
            listed = self._listed(database, table, where, [] if last is None else [last])
        largest, value = None, None
        if column:
            at = table.schema.names.index(column)
            largest = max((row[at] for row in listed if row[at] is not None), default=None)
            value = None if last is None else value_of(last, table.schema.types[column])
        kept = largest if largest is None or isinstance(largest, int | float | str) else str(largest)
        rows, rounded = self._rows(table, listed)
        return Advance(table, self._place, position, value).compared_here(rows, kept, held, rounded)

    def _connected(self) -> AbstractContextManager[Database]:
        return connected(self._place["url"], external_access=self._place.is_on("external_access"))

    def _listed(
        self, database: Database, table: CatalogTable, where: str = "", values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Return the rows for which a condition holds, as the database has them."""
        names = ", ".join(map(quoted, table.schema.names))
        text = f"SELECT {names} FROM {quoted(self._place['table'])}{where and f' WHERE {where}'}"
        result: list[tuple[Any, ...]] = database.run(text, values).fetchall()
        return result

    def _rows(
        self, table: CatalogTable, listed: Sequence[tuple[Any, ...]]
    ) -> tuple[pa.Table, Mapping[str, RoundedValues]]:
        """Return rows of the table, and the rounded values."""
        read, types = RowsOfSource(table, self._place), [c.type for c in table.schema]
        return read([tuple(map(value_of, row, types)) for row in listed]), read.taken()


def value_of(value: Any, type_: Any) -> Any:
    """Convert a database value to the column's type. Other values stay the same, and are rejected later."""
    with suppress(ValueError):
        if type_.is_composite and isinstance(value, str):
            return of_json(json.loads(value, parse_float=Decimal), type_)
        if type_.kind is Kind.BINARY:
            return bytes(value) if isinstance(value, memoryview) else value
        return of_json(value, type_)
    return value


_MARKS = "deltic_published"
_CATALOG = "information_schema.tables WHERE table_name"
_TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INT8: "SMALLINT",
    Kind.INT16: "SMALLINT",
    Kind.INT32: "INTEGER",
    Kind.INT64: "BIGINT",
    Kind.UINT8: "SMALLINT",
    Kind.UINT16: "INTEGER",
    Kind.UINT32: "BIGINT",
    Kind.UINT64: "DECIMAL(20, 0)",
    Kind.FLOAT32: "REAL",
    Kind.FLOAT64: "DOUBLE PRECISION",
    Kind.STRING: "TEXT",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    Kind.TIMESTAMP_NTZ: "TIMESTAMP",
    Kind.TIME: "TIME",
}


class DatabaseTarget:
    """A table with a primary key, which is created if necessary, and a row in a table of marks."""

    def __init__(self, place: External, name: str) -> None:
        self._place, self._id = place, name
        self._key = place.listed("key")
        if not self._key:
            raise CatalogError(f"{place}: a table of a database is published by its key: name its columns with key=")
        self._url, self._external = without_jdbc(place["url"]), place.is_on("external_access")

    def mark(self) -> TargetMark | None:
        with connected(self._url, True, self._external) as database:
            return self._mark(database)

    def publish(self, shown: PublishedView, delta: pa.Table | None) -> PublishedRows:
        for name in self._key:
            find(name, f"column of {shown.name}", shown.schema.types)
        with connected(self._url, True, self._external) as database:
            is_new = self._mark(database) is None
            if is_new:
                self._make(database, shown.schema)
            how = "changed rows" if delta is not None and not is_new else "compared"
            if how == "compared":
                delta = difference(shown.rows(), self._rows(database, shown))
            assert delta is not None
            self._apply(database, shown, delta)
            database.run(f"DELETE FROM {_MARKS} WHERE place = ?", [self._place["table"]])
            marked = [self._place["table"], self._id, shown.mark.stamp, shown.mark.epoch]
            database.run(f"INSERT INTO {_MARKS} (place, publication, stamp, epoch) VALUES (?, ?, ?, ?)", marked)
        return PublishedRows(how, len(delta))

    def _mark(self, database: Database) -> TargetMark | None:
        columns = "place VARCHAR(200) PRIMARY KEY, publication VARCHAR(64), stamp VARCHAR(64), epoch BIGINT"
        database.run(f"CREATE TABLE IF NOT EXISTS {_MARKS} ({columns})")
        asked = [self._place["table"], self._id]
        text = f"SELECT stamp, epoch FROM {_MARKS} WHERE place = ? AND publication = ?"
        result = database.run(text, asked).fetchone()
        return None if result is None else TargetMark(*result)

    def _make(self, database: Database, schema: Schema) -> None:
        """Create the table if necessary. DelticError if it exists and is not ours."""
        name = self._place["table"]
        catalog = "sqlite_master WHERE name" if database.scheme == "sqlite" else _CATALOG
        is_there = database.run(f"SELECT count(*) FROM {catalog} = ?", [name.rpartition(".")[2]]).fetchone()[0]
        is_ours = database.run(f"SELECT count(*) FROM {_MARKS} WHERE place = ?", [name]).fetchone()[0]
        if is_there and not is_ours:
            raise DelticError(f"{self._place}: the table is one of something else; drop it, or name another one")
        columns = ", ".join(f"{quoted(c.name)} {_type(c.type, database.scheme)}" for c in schema)
        key = ", ".join(map(quoted, self._key))
        database.run(f"CREATE TABLE IF NOT EXISTS {self._table} ({columns}, PRIMARY KEY ({key}))")

    def _rows(self, database: Database, shown: PublishedView) -> pa.Table:
        """Return the rows of the table."""
        names, types = ", ".join(map(quoted, shown.schema.names)), [c.type for c in shown.schema]
        listed = database.run(f"SELECT {names} FROM {self._table}").fetchall()
        rows: pa.Table = to_table(
            self._place["table"], shown.schema, [tuple(map(value_of, row, types)) for row in listed]
        )
        return rows

    def _apply(self, database: Database, shown: PublishedView, delta: pa.Table) -> None:
        """Upsert inserted rows, and delete those whose key is not inserted again."""
        come, key = delta.filter(pc.greater(delta.column(WEIGHT), 0)), list(self._key)
        gone = delta.filter(pc.less(delta.column(WEIGHT), 0)).select(key)
        self._check_key(come, shown)
        names = [*shown.schema.names]
        kept = set(zip(*(come.column(name).to_pylist() for name in key), strict=True))
        where = " AND ".join(f"{quoted(name)} = ?" for name in key)
        keys = set(zip(*(gone.column(name).to_pylist() for name in key), strict=True)) - kept
        database.run_many(f"DELETE FROM {self._table} WHERE {where}", [_plain(k, database.scheme) for k in keys])
        others = [quoted(name) for name in names if name not in key]
        sets = ", ".join(f"{name} = excluded.{name}" for name in others)
        does = f"DO UPDATE SET {sets}" if others else "DO NOTHING"
        columns, marks = ", ".join(map(quoted, names)), ", ".join("?" * len(names))
        conflict = f"ON CONFLICT ({', '.join(map(quoted, key))}) {does}"
        rows = zip(*(come.column(name).to_pylist() for name in names), strict=True)
        database.run_many(
            f"INSERT INTO {self._table} ({columns}) VALUES ({marks}) {conflict}",
            [_plain(row, database.scheme) for row in rows],
        )

    def _check_key(self, come: pa.Table, shown: PublishedView) -> None:
        """Raise DelticError if inserted rows have no key, or share one."""
        keys = list(zip(*(come.column(name).to_pylist() for name in self._key), strict=True))
        wrong = next((key for key in keys if None in key), None)
        twice = len(set(keys)) < len(keys) or any(weight > 1 for weight in come.column(WEIGHT).to_pylist())
        if wrong is not None or twice:
            what = f"a row has NULL in its key {wrong}" if wrong is not None else "rows share one key"
            raise DelticError(f"view {shown.name}: {what}, ({', '.join(self._key)}), by which it is published")

    @property
    def _table(self) -> str:
        return quoted(self._place["table"])


def _type(type_: Type, scheme: str) -> str:
    if type_.kind is Kind.DECIMAL:
        return f"DECIMAL({type_.precision}, {type_.scale})" if scheme != "sqlite" else "TEXT"
    if type_.kind is Kind.BINARY:
        return "BYTEA" if scheme == "postgresql" else "BLOB"
    if type_.is_composite:
        return "TEXT"
    if type_.kind not in _TYPES:
        raise UnsupportedError(f"a column of type {type_} is not published to a database: cast it to a text")
    return _TYPES[type_.kind]


def _plain(row: tuple[Any, ...], scheme: str) -> list[Any]:
    return [_value(value, scheme) for value in row]


def _value(value: Any, scheme: str) -> Any:
    """Return a value as the database takes it: composite values as JSON; in SQLite, times and decimals as text."""
    if scheme == "sqlite" and value != value:
        raise DelticError("SQLite has no NaN, and would make it NULL: let the view have another value in its place")
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, default=str)
    is_known = value is None or isinstance(value, bool | int | float | str | bytes)
    return value if is_known or scheme != "sqlite" else str(value)
