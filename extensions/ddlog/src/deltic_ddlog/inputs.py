"""The input relations as commands change them: sets, multisets, streams, and records by their keys.

A relation without a key is a set: insertions of present records and deletions of absent ones are ignored. With a
primary key both are errors, and records are found by their keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from deltic.errors import ChangeError
from deltic_ddlog import types as t
from deltic_ddlog.checked import ResolvedRelation
from deltic_ddlog.commands import RecordUpdate
from deltic_ddlog.lowering.program import Lowered
from deltic_ddlog.records import Made, Record, RecordError, by_field
from deltic_ddlog.values import MapValue, Set, Struct

Row = tuple[Any, ...]


class Input:
    """One input relation: its records, and its changes by the open transaction."""

    def __init__(self, relation: ResolvedRelation, lowered: Lowered) -> None:
        self.relation, self._lowered = relation, lowered
        self.form = lowered.form(relation.name)
        self._key: Callable[[Any], Any] | None = None
        if relation.key is not None:
            key = relation.key
            self._key = lowered.checked.functions.expression(key.expression, (key.variable,))
            self._key_codec = lowered.columns.codecs.of(key.expression.type)
        self._rows: dict[Any, Row] = {}
        self._before: dict[Any, Row | None] = {}
        self._weights: Counter[Row] = Counter()
        self._committed: Counter[Row] = Counter()
        self._undoing: list[tuple[Callable[[Any, Any], None], Any, Any]] = []

    def apply(self, update: RecordUpdate) -> None:
        """One update. Raises RecordError for a record of another type, and ChangeError for one that does not fit."""
        match update.kind:
            case "insert":
                self._insert(self._record(update.record))
            case "delete":
                self._delete(self._record(update.record))
            case "insert_or_update":
                self._keyed(update)
                record = self._record(update.record)
                self._set(self._key_of(record), self.form.row(record))
            case "delete_key":
                self._set(self._present(update), None)
            case "modify":
                key = self._present(update)
                changed = modified(self.form.of_row(self._rows[key]), update.record, self.form.record, self._lowered)
                if self._key_of(changed) != key:
                    raise ChangeError("the key of a record cannot be modified: delete it, and insert another one")
                self._set(key, self.form.row(changed))

    def begin(self) -> None:
        """Start a block of updates that `undo` takes back."""
        self._undoing.clear()

    def undo(self) -> None:
        """Take back all updates since `begin`."""
        while self._undoing:
            undo, of, what = self._undoing.pop()
            undo(of, what)

    def clear(self) -> None:
        """Take all records out. Raises ChangeError for a stream."""
        if self.relation.semantics == "stream":
            raise ChangeError(f"the stream {self.relation.name} cannot be cleared: it is empty after each transaction")
        self._weights.clear()
        for key in list(self._rows):
            self._set(key, None)

    def change(self) -> Counter[Row]:
        """Return the weights by which the transaction changes rows; what a stream had goes with the next one."""
        result = Counter(self._weights)
        result.subtract(self._committed)
        for key, before in self._before.items():
            now = self._rows.get(key)
            if now is not None:
                result[now] += 1
            if before is not None:
                result[before] -= 1
        return Counter({row: weight for row, weight in result.items() if weight})

    def commit(self) -> None:
        """What the transaction has changed stays."""
        self._before.clear()
        self._committed = self._weights
        self._weights = Counter() if self.relation.semantics == "stream" else Counter(self._weights)

    def rollback(self) -> None:
        """Restore the state before the transaction."""
        for key, row in self._before.items():
            self._place(key, row)
        self._before.clear()
        self._weights = Counter() if self.relation.semantics == "stream" else Counter(self._committed)

    def _record(self, record: Record) -> Any:
        """Return the record that a command gives for the relation: `R(fields)`, `R{fields}`, or `R[record]`."""
        assert isinstance(record, Made)
        codec = self._lowered.columns.codecs.of(self.form.record)
        if record.is_whole:
            return codec.read(_only(record))
        if self.form.constructor is not None:
            return codec.read(Made(self.form.constructor.name, record.arguments))
        type_, types = self.form.record, self._lowered.checked.types
        names = [made.name for made, _ in types[type_.name].constructors] if isinstance(type_, t.Named) else []
        if self.relation.name in names:
            return codec.read(Made(self.relation.name, record.arguments))
        return codec.read(_only(record) if len(record.arguments) == 1 else tuple(v for _, v in record.arguments))

    def _insert(self, record: Any) -> None:
        row = self.form.row(record)
        if self.relation.semantics != "relation":
            self._count(row, 1)
            return
        key = self._key_of(record) if self._key else row
        if key not in self._rows:
            self._set(key, row)
        elif self._key:
            raise ChangeError(f"{self.relation.name} has a record with this key already: {self._shown(key)}")

    def _delete(self, record: Any) -> None:
        row = self.form.row(record)
        if self.relation.semantics != "relation":
            self._count(row, -1)
            return
        key = self._key_of(record) if self._key else row
        if self._rows.get(key) == row:
            self._set(key, None)
        elif self._key:
            raise ChangeError(f"{self.relation.name} does not have this record")

    def _shown(self, key: Any) -> str:
        return self._lowered.columns.codecs.of(self.form.record).show(self.form.of_row(self._rows[key]))

    def _key_of(self, record: Any) -> Any:
        assert self._key is not None
        try:
            return self._key(record)
        except Exception as error:
            raise ChangeError(f"this record of {self.relation.name} has no key: {error}") from error

    def _keyed(self, update: RecordUpdate) -> None:
        if self._key is None:
            raise ChangeError(f"{update.kind} is for relations with a primary key, and {self.relation.name} has none")

    def _present(self, update: RecordUpdate) -> Any:
        """Return the present key that an update names."""
        self._keyed(update)
        assert update.key is not None
        key = self._key_codec.read(update.key)
        if key not in self._rows:
            raise ChangeError(f"{self.relation.name} has no record with the key {self._key_codec.show(key)}")
        return key

    # Rows

    def _set(self, key: Any, row: Row | None) -> None:
        """Let the row of a key be another one, or none."""
        before = self._rows.get(key)
        self._before.setdefault(key, before)
        self._undoing.append((self._place, key, before))
        self._place(key, row)

    def _place(self, key: Any, row: Row | None) -> None:
        if row is None:
            self._rows.pop(key, None)
        else:
            self._rows[key] = row

    def _count(self, row: Row, weight: int) -> None:
        """A row of a multiset or a stream comes or goes."""
        self._undoing.append((self._add, row, -weight))
        self._add(row, weight)

    def _add(self, row: Row, weight: int) -> None:
        self._weights[row] += weight
        if not self._weights[row]:
            del self._weights[row]


def modified(value: Any, change: Record, type_: t.DdlogType, lowered: Lowered) -> Any:
    """Return a value changed by a record that says what is new of it: fields of a struct, elements of a set, pairs of a
    map.

    Present elements and pairs are removed. Raises RecordError.
    """
    type_ = t.content(type_)
    if isinstance(value, Struct) and isinstance(change, Made) and _is_of(change, value, type_, lowered):
        assert isinstance(type_, t.Named)
        types = dict(zip(value.constructor.fields, lowered.checked.fields(type_, value.constructor), strict=True))
        for name, part in by_field(change, value.constructor.fields, partly=True).items():
            value = value.with_field(name, modified(value.field(name), part, types[name], lowered))
        return value
    result = lowered.columns.codecs.of(type_).read(change)
    if isinstance(value, Set):
        return value.difference(result).union(result.difference(value))
    if isinstance(value, MapValue):
        pairs = dict(value)
        again = [key for key, new in result if key in pairs and pairs[key] == new]
        return MapValue.of((key, new) for key, new in {**pairs, **dict(result)}.items() if key not in again)
    return result


def _is_of(change: Made, value: Struct, type_: t.DdlogType, lowered: Lowered) -> bool:
    """Return whether a change is of the value's constructor, which may have any name where it is the only one."""
    assert isinstance(type_, t.Named)
    is_only = len(lowered.checked.types[type_.name].constructors) == 1
    names = value.constructor.name, value.constructor.name.rpartition("::")[2]
    return is_only or change.name.replace(".", "::") in names


def _only(record: Made) -> Record:
    if len(record.arguments) != 1:
        raise RecordError(f"{record.name} takes one value")
    ((_, value),) = record.arguments
    result: Record = value
    return result
