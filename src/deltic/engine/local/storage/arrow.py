"""Batches from outside: Arrow tables to packed changes of a table and back, checked against its contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from deltic.circuit.types import Schema
from deltic.engine.batches import conforming
from deltic.engine.changes import ViewChange, count
from deltic.engine.conflicts import conflict_error
from deltic.engine.local.storage.codec import Interner, decode, encode
from deltic.engine.local.storage.layout import Layout, Values
from deltic.engine.local.storage.run import Run, Weights, Words, consolidate, plain
from deltic.engine.local.storage.state import State
from deltic.engine.protocol import WEIGHT, Conflicts

# The columns of a batch as int64 values, and its weights.
Encoded = tuple[list[Values], Weights]


def encode_batch(table: str, batch: pa.Table, state: State, interner: Interner) -> Encoded:
    """The columns of a table's batch as int64 values, and its weights; ChangeError when it is no batch of the table."""
    batch = conforming(table, batch, state.relation.schema)
    columns = [encode(batch.column(c.name), c.type, interner) for c in state.relation.schema]
    return columns, np.ascontiguousarray(batch.column(WEIGHT).to_numpy(), dtype=np.int64)


def make_room(state: State, columns: Sequence[Values]) -> None:
    """Let the relation's domains include the values of a batch; layouts are stale until they are packed anew."""
    for values, domain in zip(columns, state.domains, strict=True):
        if values.size:
            domain.include(int(values.min()), int(values.max()))


def table_change(
    name: str, state: State, columns: list[Values], weights: Weights, conflicts: Conflicts, interner: Interner
) -> Run | None:
    """The change of a table, a set: None when there is none; raises ChangeError for one that does not fit."""
    raw = [d.encode(v) for d, v in zip(state.domains, columns, strict=True)]
    words, change = consolidate(state.layout.pack(raw, len(weights)), weights)
    if conflicts != "trust":
        old = state.contents.weights_of(words)
        new = old + change
        wrong = (new < 0) | (new > 1)
        if conflicts == "error" and wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            same = wrong & ((change > 0) == (change[first] > 0))
            rows = decode_rows(state, words[:, same][:, :3], interner)
            examples = [tuple(row.values()) for row in rows.to_pylist()] or [()]
            raise conflict_error(name, int(change[first]), examples, int(same.sum()))
        change = np.clip(new, 0, 1) - old
    moved = change != 0
    return Run(words[:, moved], weights=plain(change[moved])) if moved.any() else None


def decode_rows(state: State, words: Words, interner: Interner, weights: Weights | None = None) -> pa.Table:
    """Packed rows in canonical layout as an Arrow table, with a column WEIGHT when weights are given."""
    return _decode(state.relation.schema, state.layout, words, interner, weights)


def _decode(schema: Schema, layout: Layout, words: Words, interner: Interner, weights: Weights | None) -> pa.Table:
    columns = [decode(v, column.type, interner) for v, column in zip(layout.values(words), schema, strict=True)]
    fields = schema.to_arrow()
    if weights is not None:
        columns.append(pa.array(weights))
        fields = fields.append(pa.field(WEIGHT, pa.int64(), nullable=False))
    if not columns:
        return nullary(words.shape[1])
    return pa.table(columns, schema=fields)


def nullary(count: int) -> pa.Table:
    """`count` rows without columns."""
    return pa.table({"_": pa.nulls(count)}).select([])


def view_change(state: State, run: Run, interner: Interner) -> ViewChange:
    """A change of a view, in canonical layout; runs and layouts never change, so it can be decoded at any time."""
    schema, layout = state.relation.schema, state.layout

    def to_arrow() -> pa.Table:
        return _decode(schema, layout, run.words, interner, run.all_weights())

    return ViewChange(*(count(run.weights) if run.weights.size else (len(run), 0)), to_arrow)


def encode_key(state: State, key: Mapping[str, object], interner: Interner) -> dict[int, int] | None:
    """The offsets of a key's values by column; None when one of them cannot be in the relation."""
    schema: Schema = state.relation.schema
    offsets = {}
    for name, value in key.items():
        index = schema.index(name)
        type_ = schema.columns[index].type
        if isinstance(value, str) and interner.find(value) is None:
            return None
        stored = int(encode(pa.array([value], type_.arrow), type_, interner)[0])
        if not state.domains[index].fits(stored, stored):
            return None
        offsets[index] = int(state.domains[index].encode(np.array([stored]))[0])
    return offsets
