"""The change manager [DBSP §12.4]: what a transaction asks for, as the changes of tables that it amounts to.

Rows that are inserted and deleted add up, in any order. What is said by key, and what statements of SQL say, counts for
the tables as the transaction has made them so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltic.catalog import Table
from deltic.circuit.types import Schema
from deltic.engine.batches import Batch, Several, TableBatch, with_weights
from deltic.engine.keyed import Keyed, KeyedChange, Mask, absent_keys, changes_by_key, in_order, key_of, settled
from deltic.engine.prepared import Prepared
from deltic.engine.protocol import Conflicts
from deltic.engine.version import Version
from deltic.sql.statements.effect import Effect

Batches = Mapping[str, Batch]


@dataclass(frozen=True)
class RowChange:
    """Rows of a table with weights."""

    table: str
    rows: Batch


Operation = RowChange | KeyedChange | Effect


class ChangeManager:
    """Turns operations, in their order, into one batch for each table.

    `version` has the tables before them. `prepare` computes an epoch of batches, to see what they lead to, and
    `evaluate` the changes of a table by a statement; `are_late` tells of keys whether nothing may change what has them.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        version: Version,
        conflicts: Conflicts,
        prepare: Callable[[Batches], Prepared],
        evaluate: Callable[[Effect, Version], Sequence[pa.Table]],
        are_late: Callable[[Table, pa.Table], Mask],
    ) -> None:
        self._tables, self._version, self._conflicts = tables, version, conflicts
        self._prepare, self._evaluate, self._are_late = prepare, evaluate, are_late
        self._parts: dict[str, list[Batch]] = {}

    def batches(self, operations: Sequence[Operation]) -> dict[str, Batch]:
        """What the operations amount to. Raises ChangeError and DataError for what they cannot do."""
        for operation in self._settled(operations):
            if isinstance(operation, RowChange):
                self._add(operation.table, operation.rows)
            elif isinstance(operation, KeyedChange):
                self._add(operation.table, TableBatch(self._by_key(operation)))
            else:
                for rows in self._evaluated(operation):
                    self._add(operation.table, TableBatch(rows))
        return self._gathered()

    def _settled(self, given: Sequence[Operation]) -> Iterator[Operation]:
        """The operations; rows by key that tasks have written are read where they are not all that changes a table."""
        counts = Counter(operation.table for operation in given)
        for operation in given:
            if isinstance(operation, RowChange) and key_of(operation.rows) and counts[operation.table] > 1:
                table = self._tables[operation.table]
                rows = in_order(Keyed(table.name, table.key), operation.rows.to_arrow())
                yield from operations(table, TableBatch(rows))
            else:
                yield operation

    def _add(self, table: str, rows: Batch) -> None:
        if rows.count():
            self._parts.setdefault(table, []).append(rows)

    def _gathered(self) -> dict[str, Batch]:
        return {name: Several.of(parts) for name, parts in self._parts.items()}

    def _evaluated(self, effect: Effect) -> Sequence[pa.Table]:
        """The changes by a statement, which sees what was changed before it."""
        if not self._parts or not effect.reads:
            return self._evaluate(effect, self._version)
        with self._prepare(self._gathered()) as epoch:
            return self._evaluate(effect, epoch.version)

    def _by_key(self, change: KeyedChange) -> pa.Table:
        """The rows that go and come, with weights."""
        table = self._tables[change.table]
        held = self._version.lookup_all(table.name, change.rows.select(table.key))
        rows, absent = settled(change, table.key, held, [p.to_arrow() for p in self._parts.get(table.name, ())])
        if absent is None or self._conflicts != "error":
            return rows
        late = self._are_late(table, absent)
        if not late.all():
            raise absent_keys(change, absent.filter(pa.array(~late)))
        return pa.concat_tables([rows, with_weights(keys_as_rows(absent, table.schema), -1)])


def operations(table: Table, rows: Batch) -> Iterator[RowChange | KeyedChange]:
    """Changes of a table, with weights or with UPSERT or BY_KEY in their place, as operations."""
    if not isinstance(rows, TableBatch):
        yield RowChange(table.name, rows)
        return
    for change in changes_by_key(Keyed(table.name, table.key), rows.table):
        yield change if isinstance(change, KeyedChange) else RowChange(table.name, TableBatch(change))


def keys_as_rows(keys: pa.Table, schema: Schema) -> pa.Table:
    """Keys as rows of a table, of which nothing else is known: they may be forgotten, so that they are told as late."""
    fields = schema.to_arrow()
    columns = [keys.column(f.name) if f.name in keys.column_names else pa.nulls(len(keys), f.type) for f in fields]
    return pa.table(columns, schema=fields)
