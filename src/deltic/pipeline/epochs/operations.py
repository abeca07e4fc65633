"""The change manager [DBSP §12.4]: what a transaction asks for, as the changes of tables that it amounts to.

Rows that are inserted and deleted add up, in any order. What is said by key, and what statements of SQL say, counts for
the tables as the transaction has made them so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.catalog import Table
from deltic.engine.batches import Batch, Several, TableBatch
from deltic.engine.conflicts import SHOWN
from deltic.engine.prepared import Prepared
from deltic.engine.protocol import WEIGHT, Conflicts
from deltic.engine.version import Version
from deltic.errors import ChangeError
from deltic.pipeline.epochs.keys import key_text
from deltic.pipeline.io.signs import MOST
from deltic.pipeline.rows.numbering import Numbers, last_of_each, row_numbers
from deltic.sql.statements.effect import Effect

Batches = Mapping[str, Batch]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RowChange:
    """Rows of a table with weights."""

    table: str
    rows: Batch


@dataclass(frozen=True)
class KeyedChange:
    """Rows of a table by its key: those that come in place of what has it, keys of what goes, or other values."""

    kind: Literal["upsert", "delete", "update"]
    table: str
    rows: pa.Table
    """All columns, those of the key, or those of the key and some others; of rows with one key the last one counts."""
    may_be_absent: bool = False
    """Whether a key that no row has is no conflict."""


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
        for operation in operations:
            if isinstance(operation, RowChange):
                self._add(operation.table, operation.rows)
            elif isinstance(operation, KeyedChange):
                self._add(operation.table, TableBatch(self._by_key(operation)))
            else:
                for rows in self._evaluated(operation):
                    self._add(operation.table, TableBatch(rows))
        return self._gathered()

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
        held = with_weights(self._version.lookup_all(table.name, change.rows.select(table.key)), 1)
        before = pa.concat_tables([held, *(part.to_arrow() for part in self._parts.get(table.name, []))])
        keys = pa.concat_tables([before.select(table.key), change.rows.select(table.key)])
        numbers = row_numbers(keys, table.key)
        old, new = numbers[: len(before)], numbers[len(before) :]
        concerned = np.isin(old, new)
        before, old = _summed(before.filter(pa.array(concerned)), old[concerned], table)
        last = last_of_each(new)
        rows, new = change.rows.take(pa.array(last)), new[last]
        there = old[np.asarray(before.column(WEIGHT)) > 0]
        is_strict = self._conflicts == "error" and change.kind != "upsert" and not change.may_be_absent
        if is_strict and not (known := np.isin(new, there)).all():
            absent = rows.select(table.key).filter(pa.array(~known))
            late = self._are_late(table, absent)
            if not late.all():
                raise _absent(change, absent.filter(pa.array(~late)))
            return pa.concat_tables(
                [self._by_key(replace(change, rows=rows.filter(pa.array(known)))), _of(table, absent)]
            )
        gone = with_weights(before.drop_columns([WEIGHT]), -np.asarray(before.column(WEIGHT)))
        if change.kind == "delete":
            return gone
        come = rows if change.kind == "upsert" else _updated(table, before, old, rows, new)
        return pa.concat_tables([gone, with_weights(come.select(table.schema.names), 1)])


def logged(table: Table, rows: pa.Table) -> Iterator[RowChange | KeyedChange]:
    """Changes of a table as operations: rows with weights, or with UPSERT or BY_KEY in their place.

    Of a key that the latter name the last row counts, as in a log; other rows add up. That a key is deleted which was
    absent is a conflict, unless a row of it comes in the same changes.
    """
    weights = np.asarray(rows.column(WEIGHT))
    by_key = np.abs(weights) > MOST
    if not by_key.any():
        yield RowChange(table.name, TableBatch(rows))
        return
    numbers = row_numbers(rows, table.key)
    told = np.isin(numbers, numbers[by_key])
    if not told.all():
        yield RowChange(table.name, TableBatch(rows.filter(pa.array(~told))))
    last = last_of_each(numbers)
    last = np.sort(last[told[last]])
    come, gone = last[weights[last] > 0], last[weights[last] < 0]
    if len(come):
        yield KeyedChange("upsert", table.name, rows.take(pa.array(come)).drop_columns([WEIGHT]))
    made = np.isin(numbers[gone], numbers[weights > 0])
    for places, may_be_absent in ((gone[~made], False), (gone[made], True)):
        if len(places):
            yield KeyedChange("delete", table.name, rows.take(pa.array(places)).select(table.key), may_be_absent)


def _summed(rows: pa.Table, numbers: Numbers, table: Table) -> tuple[pa.Table, Numbers]:
    """Rows with weights, each once with its sum, and their numbers; those that cancel are left out."""
    distinct, first, where = np.unique(row_numbers(rows, table.schema.names), return_index=True, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, where.reshape(-1), np.asarray(rows.column(WEIGHT)))
    kept = first[sums != 0]
    return with_weights(rows.take(pa.array(kept)).drop_columns([WEIGHT]), sums[sums != 0]), numbers[kept]


def _updated(table: Table, before: pa.Table, old: Numbers, rows: pa.Table, new: Numbers) -> pa.Table:
    """The rows that are there, with the values that `rows` has for their keys; both have their keys' numbers."""
    there = np.asarray(before.column(WEIGHT)) > 0
    before, old = before.filter(pa.array(there)), old[there]
    found = rows.take(pa.array(np.searchsorted(new, old)))
    columns = [(found if name in found.column_names else before).column(name) for name in table.schema.names]
    return pa.table(columns, schema=table.schema.to_arrow())


def _of(table: Table, keys: pa.Table) -> pa.Table:
    """Rows that go, of which nothing is known but their keys: they may be forgotten, so that they are told as late."""
    fields = table.schema.to_arrow()
    columns = [keys.column(f.name) if f.name in table.key else pa.nulls(len(keys), f.type) for f in fields]
    return with_weights(pa.table(columns, schema=fields), -1)


def _absent(change: KeyedChange, keys: pa.Table) -> ChangeError:
    """The error for keys that no row has."""
    shown = "; ".join(key_text(key) for key in keys.slice(0, SHOWN).to_pylist())
    more = f"; and {len(keys) - SHOWN:,} more" if len(keys) > SHOWN else ""
    return ChangeError(
        f"table {change.table}: the transaction would {change.kind} by key rows that are absent: {shown}{more}; "
        'nothing was changed. Pass conflicts="normalize" to ignore such changes, or use upsert.'
    )


def with_weights(rows: pa.Table, weights: Numbers | int) -> pa.Table:
    """The rows with these weights in a column WEIGHT, or each with the same one."""
    found = pa.repeat(pa.scalar(weights, pa.int64()), len(rows)) if isinstance(weights, int) else pa.array(weights)
    field = pa.field(WEIGHT, pa.int64(), nullable=False)
    return rows.append_column(field, found) if rows.num_columns else pa.table([found], schema=pa.schema([field]))
