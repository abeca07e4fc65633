"""The rows of all shards as Arrow tables with weights."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from deltic.engine.batches import TableBatch
from deltic.engine.storage.arrow import encode_batch, make_room, packed
from deltic.engine.storage.codec import decode_rows
from deltic.engine.storage.store import Store
from deltic.program.definitions import Derived
from deltic.program.program import Program, Relation, Stratum
from deltic.values.types import Schema


def weights_of(stores: Iterable[Store], name: str) -> pa.Table:
    """Return the sum of all changes of a table: its rows, and the surplus of trusted changes of a set."""
    parts = []
    for store in stores:
        state = store.states[name]
        kept = [(state.layout, *state.rows())]
        for (role, _), arrangement in state.auxiliary.items():
            if role == "surplus":
                kept += [(arrangement.layout, run.words, run.all_weights()) for run in arrangement.runs]
        for layout, words, weights in kept:
            signed = weights.astype("int64")
            parts.append(decode_rows(state.relation.schema, layout, words, store.interner, signed))
    return pa.concat_tables(parts)


def consolidated(schema: Schema, rows: pa.Table) -> pa.Table:
    """Return the Z-set of rows of a schema, with a column WEIGHT: distinct rows, nonzero weights."""
    program = Program({"": Relation("", schema, Derived(distinct=False), "")}, (Stratum(("",), False),), (), {}, {})
    store = Store()
    store.define(program, lambda literal: 0)
    state = store.states[""]
    columns, weights = encode_batch("", TableBatch(rows), state, store.interner)
    make_room(state, columns)
    store.fit()
    words, sums = packed(state, columns, weights)
    return decode_rows(schema, state.layout, words, store.interner, sums)
