"""Going on with another circuit: on shards, tables move to another engine, which computes everything else anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltic.circuit.types import Schema
from deltic.engine.batches import TableBatch
from deltic.engine.local.storage.arrow import encode_batch, make_room, packed
from deltic.engine.local.storage.codec import decode_rows
from deltic.engine.local.storage.store import Store
from deltic.engine.protocol import WEIGHT
from deltic.engine.shards.shard import Shard
from deltic.engine.shards.version import together
from deltic.errors import UnsupportedError
from deltic.program.definitions import Derived
from deltic.program.operators.delay import Delayed
from deltic.program.operators.window import Windowed
from deltic.program.program import Program, Relation, Stratum


def refuse_memory(shards: Sequence[Shard], old: Program, new: Program) -> None:
    """Raises UnsupportedError where a relation that stays has what its tables do not tell: a time, or a due change."""
    there = {relation.fingerprint: name for name, relation in old.relations.items()}
    for name, relation in new.relations.items():
        was = there.get(relation.fingerprint)
        if was is not None and isinstance(relation.definition, Delayed | Windowed) and _remembers(shards, was):
            raise UnsupportedError(
                f"engine spark: {name} remembers epochs, and other definitions cannot be added beside it yet: "
                'define all views before the first epoch, or use engine="local"'
            )


def _remembers(shards: Sequence[Shard], name: str) -> bool:
    return any(arrangement.runs for shard in shards for arrangement in shard.states[name].auxiliary.values())


def weights_of(stores: Iterable[Store], name: str) -> pa.Table:
    """All that was ever summed up of a table: its rows, and what trusted changes of a set have beside 0 and 1."""
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


def difference(schema: Schema, old: pa.Table | None, new: pa.Table) -> pa.Table:
    """The change from one Z-set of rows, with a column WEIGHT, to another: no row twice, no zero weight."""
    program = Program({"": Relation("", schema, Derived(distinct=False), "")}, (Stratum(("",), False),), (), {}, {})
    store = Store()
    store.define(program, lambda literal: 0)
    state = store.states[""]
    rows = new
    if old is not None:
        place = old.schema.get_field_index(WEIGHT)
        negated = old.set_column(place, old.schema.field(WEIGHT), pc.negate(old.column(WEIGHT)))
        rows = together([new, negated])
    columns, weights = encode_batch("", TableBatch(rows), state, store.interner)
    make_room(state, columns)
    store.fit()
    words, sums = packed(state, columns, weights)
    return decode_rows(schema, state.layout, words, store.interner, sums)
