"""What transactions of a log have made of the rows of a table: the last row of each key that they have written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from deltic.catalog import CatalogTable
from deltic.pipeline.connectors.database import value_of
from deltic.pipeline.connectors.moments import ServerMoment
from deltic.pipeline.connectors.pgoutput import (
    Decoder,
    LoggedTable,
    TransactionBegin,
    TransactionEnd,
    Values,
    WrittenRow,
)
from deltic.pipeline.rows.coerce import to_table
from deltic.values.types import Schema

Key: TypeAlias = "tuple[Any, ...]"


@dataclass(frozen=True)
class _Held:
    """A value that did not change: that of the row which the table holds for a key."""

    key: Key


@dataclass
class LoggedRows:
    """The rows of the table with this number in the log, after some place and without what a snapshot sees.

    `loaders` has psycopg's readers of texts, by the number of a type.
    """

    table: CatalogTable
    number: int
    loaders: Any
    after: int
    until: int
    """The place from which on the snapshot sees nothing."""
    snapshot: ServerMoment
    end: int = 0
    """The end of the last transaction."""
    count: int = 0
    """The number of rows that counted."""
    problem: str = ""
    """Why a row cannot be used; the rows are then not complete."""
    _rows: dict[Key, dict[str, Any] | None] = field(default_factory=dict)
    _decoder: Decoder = field(default_factory=Decoder)
    _counts: bool = False

    def take(self, data: bytes) -> None:
        """Take the next message of the log."""
        match self._decoder.decode(data):
            case TransactionBegin(at, transaction):
                is_seen = at < self.until and self.snapshot.sees(transaction)
                self._counts = at >= self.after and not is_seen
            case TransactionEnd(end):
                self.end = end
            case WrittenRow() as row if self._counts and row.relation.id == self.number:
                self.problem = self.problem or self._problem_of(row.relation)
                if not self.problem:
                    self._write(row)

    @property
    def keys(self) -> pa.Table:
        """The keys of the rows."""
        types = {c.name: c for c in self.table.schema}
        return to_table(self.table.name, Schema(tuple(types[name] for name in self.table.key)), list(self._rows))

    def present(self, held: pa.Table) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that exist at the end; `held` are the table's rows with the keys."""
        rows = [row for row in self._rows.values() if row is not None]
        needs_held = any(isinstance(value, _Held) for row in rows for value in row.values())
        by_key = {self._key(row): row for row in held.to_pylist()} if needs_held else {}
        for row in rows:
            values = ((name, row[name]) for name in self.table.schema.names)
            yield tuple(by_key[v.key][name] if isinstance(v, _Held) else v for name, v in values)

    def _problem_of(self, relation: LoggedTable) -> str:
        if missing := [name for name in self.table.schema.names if name not in relation.types]:
            return f"the log of the server has no values of column {missing[0]}"
        if foreign := [name for name in self.table.key if name not in relation.identity]:
            return f"the log of the server does not identify rows by {foreign[0]}, see REPLICA IDENTITY"
        return ""

    def _write(self, row: WrittenRow) -> None:
        self.count += 1
        old = self._read(row.relation, row.old or row.new or {})
        key = self._key(old)
        new = row.new and self._whole(self._read(row.relation, row.new), old if row.old else {}, key)
        self._rows[key] = None
        if new:
            self._rows[self._key(new)] = new

    def _whole(self, new: dict[str, Any], old: Mapping[str, Any], key: Key) -> dict[str, Any]:
        """Return a row with the values that the log has left out."""
        before = self._rows.get(key) or dict.fromkeys(self.table.schema.names, _Held(key))
        return {**before, **old, **new} if len(new) < len(self.table.schema.names) else new

    def _key(self, row: Mapping[str, Any]) -> Key:
        return tuple(row[name] for name in self.table.key)

    def _read(self, relation: LoggedTable, values: Values) -> dict[str, Any]:
        types = self.table.schema.types
        texts = {name: values[name] for name in types if name in values}
        return {
            name: None if text is None else value_of(self._load(relation.types[name], text), types[name])
            for name, text in texts.items()
        }

    def _load(self, type_: int, text: bytes) -> Any:
        return self.loaders.get_loader(type_, 0).load(text)
