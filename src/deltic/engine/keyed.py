"""Changes by key: a row replaces the row with its key, or the row with a key is deleted.

In a batch, such rows have UPSERT or BY_KEY in place of a weight. Their effect depends on the rows of the table, so it
is resolved where these are: in this process, or on the shard that has all rows of a key. Of several rows for one key
the last one counts, as in a log: if a batch is in parts, ORDER numbers them. A transaction makes several changes of a
table one after the other: each applies to the result of those before it.

Rows are compared by their numbers: equal for rows that are equal by the rules of keys and groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.expressions.checks import show_value
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Source
from deltic.circuit.tables import WEIGHT
from deltic.engine.batches import Batch, Changed, TableBatch, with_weights
from deltic.engine.conflicts import (
    SHOWN,
    AbsentKeys,
    Conflict,
    ConflictError,
    Conflicts,
    SharedKeys,
    UnorderedKeys,
)
from deltic.engine.version import Version
from deltic.program.program import Program

MOST = 2**31 - 1
"""The greatest weight of one row of a batch, so that sums of weights do not overflow."""
UPSERT = MOST + 1
"""In place of a weight: insert the row, and delete the row with its key."""
BY_KEY = -UPSERT
"""In place of a weight: delete the row with the key of this row, whose other columns are ignored."""
ORDER = "order\0"
"""The column, int64, that numbers rows in parts, so that the last one is known."""

Mask = npt.NDArray[np.bool_]
LookUp = Callable[[pa.Table], pa.Table]
"""Returns the rows of a table that have one of these keys."""
AreLate = Callable[[pa.Table], Mask]
"""Returns the mask of the keys whose time is before the watermark."""


@runtime_checkable
class ByKey(Batch, Protocol):
    """A batch whose rows may be changes by key, if it has a `key`."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the table's key."""


def key_of(batch: Changed) -> tuple[str, ...]:
    """Return the columns of the table's key, if rows of a batch may be changes by key."""
    return batch.key if not isinstance(batch, TableBatch) and isinstance(batch, ByKey) else ()


@dataclass(frozen=True)
class Keyed:
    """A table's name, and the columns of its key."""

    name: str
    key: tuple[str, ...]


@dataclass(frozen=True)
class RowChange:
    """Rows of a table with weights, or with marks for changes by key in their place.

    With `updates`, the columns of the key and some others, the rows with these keys get these values.
    """

    table: str
    rows: Batch
    updates: tuple[str, ...] = ()

    @cached_property
    def is_by_key(self) -> bool:
        """Whether rows may be changes by key."""
        rows = self.rows
        if isinstance(rows, TableBatch):
            return bool(self.updates) or (rows.weight is None and bool(are_by_key(rows.to_arrow()).any()))
        return bool(key_of(rows)) or bool(self.updates)

    def parts(self, table: Keyed) -> Iterator[pa.Table | KeyedChange]:
        """Yield the change in steps: rows with weights, and rows by key. Raises UnorderedKeys."""
        rows = self.rows.to_arrow()
        if not isinstance(self.rows, TableBatch):
            rows = in_order(table, rows)
        if self.updates:
            yield KeyedChange("update", table.name, rows.select(self.updates))
        elif self.is_by_key:
            yield from changes_by_key(table, rows)
        else:
            yield rows


@dataclass(frozen=True)
class KeyedChange:
    """Rows of a table by key: rows that replace those with the same key, keys of rows to delete, or new values."""

    kind: Literal["upsert", "delete", "update"]
    table: str
    rows: pa.Table
    """All columns, those of the key, or those of the key and some others. Of rows with one key the last one counts."""
    may_be_absent: bool = False
    """Whether a key without a row is no conflict."""

    @property
    def needs_rows(self) -> bool:
        """Return whether a key without a row is a conflict."""
        return self.kind != "upsert" and not self.may_be_absent

    def spread(self, schema: pa.Schema) -> pa.Table:
        """Return the change as rows of a batch of a table with this schema, each with its position."""
        rows = with_weights(keys_as_rows(self.rows, schema), BY_KEY if self.kind == "delete" else UPSERT)
        return with_order(rows)


def changes_by_key(table: Keyed, rows: pa.Table) -> Iterator[pa.Table | KeyedChange]:
    """Split rows with weights, UPSERT or BY_KEY into rows with weights and changes by key.

    For a key that is changed by key, the last row counts; other rows are summed. Deleting an absent key is a conflict,
    unless the batch also has a row with it.
    """
    weights = np.asarray(rows.column(WEIGHT))
    by_key = are_by_key(rows)
    if not by_key.any():
        yield rows
        return
    numbers = row_numbers(rows, table.key)
    is_by_key = np.isin(numbers, numbers[by_key])
    if not is_by_key.all():
        yield rows.filter(pa.array(~is_by_key))
    last = last_of_each(numbers)
    last = np.sort(last[is_by_key[last]])
    come, gone = last[weights[last] > 0], last[weights[last] < 0]
    if len(come):
        yield KeyedChange("upsert", table.name, rows.take(pa.array(come)).drop_columns([WEIGHT]))
    made = np.isin(numbers[gone], numbers[weights > 0])
    for places, may_be_absent in ((gone[~made], False), (gone[made], True)):
        if len(places):
            yield KeyedChange("delete", table.name, rows.take(pa.array(places)).select(table.key), may_be_absent)


def are_by_key(rows: pa.Table) -> Mask:
    """Return the mask of the rows of a batch that are changes by key, bool[n]."""
    result: Mask = np.abs(np.asarray(rows.column(WEIGHT))) > MOST
    return result


def weighted(table: Keyed, rows: pa.Table, look_up: LookUp, conflicts: Conflicts) -> pa.Table:
    """Return a batch of a table, in order, as rows with weights: changes by key are replaced by their net effect.

    `look_up` finds the present rows of keys. Raises AbsentKeys.
    """
    parts = [rows.slice(0, 0)]
    for change in changes_by_key(table, rows):
        parts.append(amount(table, change, parts, look_up, conflicts))
    return pa.concat_tables(parts)


def amount(
    table: Keyed,
    change: pa.Table | KeyedChange,
    before: Sequence[pa.Table],
    look_up: LookUp,
    conflicts: Conflicts,
    are_late: AreLate | None = None,
) -> pa.Table:
    """Return the effect of a change, as rows with weights, after those of `before`; `look_up` finds the rows of keys.

    Absent keys that `are_late` may have been forgotten. They are passed on, to be reported as late. Raises AbsentKeys.
    """
    if not isinstance(change, KeyedChange):
        return change
    held = look_up(change.rows.select(table.key))
    rows, absent, there = settled(change, table.key, held, before)
    if conflicts != "error":
        return rows
    if absent is not None:
        late = np.zeros(len(absent), np.bool_) if are_late is None else are_late(absent)
        if not late.all():
            raise absent_keys(change, absent.filter(pa.array(~late)))
        rows = pa.concat_tables([rows, with_weights(keys_as_rows(absent, held.schema), -1)])
    _refuse_unfit(table, held, there, are_late)
    return rows


def key_columns(circuit: Circuit, program: Program) -> dict[str, tuple[int, ...]]:
    """Return the positions of the key columns of each table with a key, by the table's relation."""
    sources = [op for op in circuit.operators if isinstance(op, Source) and op.key and op.name in program.tables]
    return {program.tables[op.name]: tuple(map(op.schema.index, op.key)) for op in sources}


def keys_as_rows(keys: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return keys, possibly with more columns, as rows of a table with this schema; other columns are NULL."""
    columns = [keys.column(f.name) if f.name in keys.column_names else pa.nulls(len(keys), f.type) for f in schema]
    return pa.table(columns, schema=schema)


def with_order(rows: pa.Table) -> pa.Table:
    """Return the rows of a batch, which are in order, with ORDER."""
    return rows.append_column(pa.field(ORDER, pa.int64(), nullable=False), pa.array(np.arange(len(rows))))


def in_order(table: Keyed, rows: pa.Table) -> pa.Table:
    """Return the rows of a batch in order, without ORDER. UnorderedKeys if the order matters and there is none."""
    if ORDER in rows.column_names:
        return rows.sort_by(ORDER).drop_columns([ORDER])
    check_order(table, rows)
    return rows


def plain(table: str, batch: Changed, version: Version, conflicts: Conflicts) -> Changed:
    """Return a batch whose rows have weights: changes by key are replaced by their net effect on a version's tables.

    Raises AbsentKeys and UnorderedKeys.
    """
    if isinstance(batch, pa.Table) or not (key := key_of(batch)):
        return batch
    keyed = Keyed(table, key)
    rows = in_order(keyed, batch.to_arrow())
    return TableBatch(weighted(keyed, rows, partial(version.lookup_all, table), conflicts))


def settled(
    change: KeyedChange, key: Sequence[str], held: pa.Table, before: Sequence[pa.Table]
) -> tuple[pa.Table, pa.Table | None, pa.Table]:
    """Return the deleted and inserted rows of a change, with weights, and the absent keys that it needs, if any.

    Also return the rows with its keys, with weights, before the change. `held` are the table's rows with these keys,
    and `before` the earlier changes in the batch.
    """
    rows = pa.concat_tables([with_weights(held, 1), *before])
    numbers = row_numbers(pa.concat_tables([rows.select(key), change.rows.select(key)]), key)
    old, new = numbers[: len(rows)], numbers[len(rows) :]
    concerned = np.isin(old, new)
    rows, old = _summed(rows.filter(pa.array(concerned)), old[concerned])
    last = last_of_each(new)
    wanted, new = change.rows.take(pa.array(last)), new[last]
    weights = np.asarray(rows.column(WEIGHT))
    known = np.isin(new, old[weights > 0])
    absent = wanted.select(key).filter(pa.array(~known)) if change.needs_rows and not known.all() else None
    there, names = rows.drop_columns([WEIGHT]), held.column_names
    gone = with_weights(there, -weights)
    if change.kind == "delete":
        return gone, absent, rows
    come = wanted if change.kind == "upsert" else _updated(there, old, weights > 0, wanted, new)
    return pa.concat_tables([gone, with_weights(come.select(names), 1)]), absent, rows


def _refuse_unfit(table: Keyed, held: pa.Table, there: pa.Table, are_late: AreLate | None) -> None:
    """Raise ConflictError if rows are there twice, or have a negative weight, which a change of their key would hide.

    `held` are the table's rows, `there` the present ones. Late rows may have been forgotten.
    """
    weights = np.asarray(there.column(WEIGHT))
    unfit = (weights < 0) | (weights > 1)
    if unfit.any() and are_late is not None:
        unfit &= ~are_late(there.drop_columns([WEIGHT]))
    kinds = []
    for comes, is_there in product((True, False), repeat=2) if unfit.any() else ():
        numbers = row_numbers(pa.concat_tables([there.select(held.column_names), held]), held.column_names)
        same = unfit & ((weights > 0) == comes) & (np.isin(numbers[: len(there)], numbers[len(there) :]) == is_there)
        if same.any():
            shown = there.filter(pa.array(same)).select(held.column_names).slice(0, SHOWN).to_pylist()
            kinds.append(Conflict(is_there, comes, [tuple(row.values()) for row in shown], int(same.sum())))
    if kinds:
        raise ConflictError(table.name, kinds)


def _summed(rows: pa.Table, numbers: Numbers) -> tuple[pa.Table, Numbers]:
    """Return distinct rows with their summed weights, and their numbers. Rows that cancel are left out."""
    names = [name for name in rows.column_names if name != WEIGHT]
    distinct, first, where = np.unique(row_numbers(rows, names), return_index=True, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, where.reshape(-1), np.asarray(rows.column(WEIGHT)))
    kept = first[sums != 0]
    return with_weights(rows.take(pa.array(kept)).drop_columns([WEIGHT]), sums[sums != 0]), numbers[kept]


def _updated(before: pa.Table, old: Numbers, there: Mask, rows: pa.Table, new: Numbers) -> pa.Table:
    """Return the rows that are `there`, with the values of `rows` for their keys, which are given by number."""
    before, old = before.filter(pa.array(there)), old[there]
    result = rows.take(pa.array(np.searchsorted(new, old)))
    columns = [(result if name in result.column_names else before).column(name) for name in before.column_names]
    return pa.table(columns, schema=before.schema)


def absent_keys(change: KeyedChange, keys: pa.Table) -> AbsentKeys:
    """Return the error for keys of a change that no row has."""
    return AbsentKeys(change.table, _texts(keys.slice(0, SHOWN)), len(keys), change.kind)


def shared_keys(table: Keyed, rows: pa.Table) -> SharedKeys:
    """Return the error for rows that share keys."""
    numbers = row_numbers(rows, table.key)
    several = np.flatnonzero(np.bincount(numbers) > 1)
    examples = [_sharing(rows.filter(pa.array(numbers == number)), table.key) for number in several[:SHOWN]]
    return SharedKeys(table.name, examples, len(several))


def check_order(table: Keyed, rows: pa.Table) -> None:
    """Raise UnorderedKeys if several rows of a batch are changes of one key, of which the last one would count."""
    by_key = are_by_key(rows)
    if by_key.any():
        numbers = row_numbers(rows, table.key)
        several = np.flatnonzero(by_key & (np.bincount(numbers)[numbers] > 1))
        if len(several):
            raise UnorderedKeys(table.name, _texts(rows.select(table.key).slice(int(several[0]), 1)), 1)


def _sharing(rows: pa.Table, key: Sequence[str]) -> str:
    """Return a key, and the rows that have it, as text."""
    (key_text,) = _texts(rows.select(key).slice(0, 1))
    return f"{key_text}: {' and '.join(show_value(tuple(row.values())) for row in rows.slice(0, SHOWN).to_pylist())}"


def _texts(keys: pa.Table) -> list[str]:
    """Return keys as texts for messages."""
    return [", ".join(f"{name} = {show_value(value)}" for name, value in key.items()) for key in keys.to_pylist()]


Numbers = npt.NDArray[np.int64]


def row_numbers(rows: pa.Table, columns: Sequence[str]) -> Numbers:
    """Return a number below len(rows) for each row: equal for rows with equal values here; NULL equals NULL."""
    numbers: Numbers = np.zeros(len(rows), np.int64)
    for name in columns:
        result = _numbers(rows.column(name))
        combined = numbers * (int(result.max(initial=0)) + 1) + result
        numbers = np.unique(combined, return_inverse=True)[1].astype(np.int64).reshape(-1)
    return numbers


def last_of_each(numbers: Numbers) -> Numbers:
    """Return the last position of each number, in the order of the numbers."""
    return len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """Return a number for each value of a column."""
    if pa.types.is_nested(column.type):
        known: dict[Any, int] = {}
        return np.fromiter((known.setdefault(_plain(v), len(known)) for v in column.to_pylist()), np.int64, len(column))
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # makes one zero of the two
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices).astype(np.int64)


def _plain(value: Any) -> Any:
    """Return a hashable value that is equal for equal values."""
    if isinstance(value, dict):
        return tuple((name, _plain(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return "NaN" if isinstance(value, float) and value != value else value
