"""Messages of PostgreSQL's output plugin pgoutput, version 1: transactions of its log in the order of their commits.

Between the begin and the end of a transaction are all rows that it has written, and those of no other.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Values: TypeAlias = Mapping[str, "bytes | None"]
"""Texts by column. An update leaves out long values that it did not change."""
_IS_IDENTITY = 1


@dataclass(frozen=True)
class LoggedTable:
    """A table as it was when rows were written."""

    id: int
    types: Mapping[str, int]
    """The number of each column's type."""
    identity: frozenset[str]
    """The columns by which the log identifies an old row."""


@dataclass(frozen=True)
class TransactionBegin:
    """A transaction, with the last 32 bits of its number; `at` is where its commit stands in the log."""

    at: int
    transaction: int


@dataclass(frozen=True)
class TransactionEnd:
    """The end of a transaction, and the place after it in the log."""

    end: int


@dataclass(frozen=True)
class WrittenRow:
    """A row that was inserted (`new`), updated (both) or deleted (`old`); an update may leave out `old`.

    `old` has the columns of the identity.
    """

    relation: LoggedTable
    old: Values | None
    new: Values | None


Message: TypeAlias = "TransactionBegin | TransactionEnd | WrittenRow"


@dataclass
class Decoder:
    """Decodes messages in order; it keeps the last form of each table."""

    _relations: dict[int, LoggedTable] = field(default_factory=dict)

    def decode(self, data: bytes) -> Message | None:
        """Return a message; None for one that changes no row: of a table's form, or another kind."""
        fields = _Fields(data, 1)
        match data[:1]:
            case b"B":
                at, _, transaction = fields.take("QQI")
                return TransactionBegin(at, transaction)
            case b"C":
                _, _, end, _ = fields.take("BQQQ")
                return TransactionEnd(end)
            case b"R":
                relation = _relation(fields)
                self._relations[relation.id] = relation
            case b"I" | b"U" | b"D":
                return self._row(fields)
        return None

    def _row(self, fields: _Fields) -> WrittenRow:
        relation, old, new = self._relations[fields.take("I")[0]], None, None
        while not fields.is_end:
            kind, values = fields.take("c")[0], _values(fields, relation)
            if kind == b"N":
                new = values
            else:
                old = {name: value for name, value in values.items() if name in relation.identity}
        return WrittenRow(relation, old, new)


@dataclass
class _Fields:
    """The fields of a message, one after the other."""

    data: bytes
    at: int

    @property
    def is_end(self) -> bool:
        return self.at == len(self.data)

    def take(self, form: str) -> tuple[Any, ...]:
        result = struct.unpack_from(f"!{form}", self.data, self.at)
        self.at += struct.calcsize(f"!{form}")
        return result

    def bytes(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def text(self) -> str:
        end = self.data.index(0, self.at)
        result = self.data[self.at : end].decode()
        self.at = end + 1
        return result


def _relation(fields: _Fields) -> LoggedTable:
    (number,), _, _ = fields.take("I"), fields.text(), fields.text()
    types, identity = {}, set()
    for _ in range(fields.take("cH")[1]):
        flags, name = fields.take("B")[0], fields.text()
        types[name], _ = fields.take("Ii")
        if flags & _IS_IDENTITY:
            identity.add(name)
    return LoggedTable(number, types, frozenset(identity))


def _values(fields: _Fields, relation: LoggedTable) -> dict[str, bytes | None]:
    """Return the values of a row, in whose place `n` stands for NULL and `u` for a long one that did not change."""
    result: dict[str, bytes | None] = {}
    fields.take("H")
    for name in relation.types:
        match fields.take("c")[0]:
            case b"n":
                result[name] = None
            case b"t":
                result[name] = fields.bytes(fields.take("I")[0])
    return result
