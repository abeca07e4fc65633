"""Moves a state from one executor to another: the tables are copied, and the views are computed from them.

The executor with the state does not change until the other one has all of it. So a move that fails, or is
interrupted, has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from deltic.engine.executors.executor import Executor
from deltic.engine.result import EpochResult
from deltic.engine.storage.codec import decode_rows
from deltic.engine.storage.store import Store
from deltic.errors import DelticError, UnsupportedError
from deltic.program.frontiers import remembered


def move(old: Executor, new: Executor) -> EpochResult:
    """Copy the state of an old executor, with its epoch, to a new one without rows. Return how it computed the views.

    Raises UnsupportedError if the views depend on more than the tables, and the errors of computing the views.
    """
    if memory := remembered(old.program):
        raise UnsupportedError(f"the state cannot be moved to another engine: {memory}")
    stores, tables = old.stores, new.program.tables
    rows = {table: weights_of(stores, name) for table, name in old.program.tables.items() if table in tables}
    executed = new.run(rows, "trust")
    executed.commit()
    for view in old.program.sinks:
        if (count := new.version.count(view)) != old.version.count(view):
            raise DelticError(f"the state was not moved: {view} would have {count:,} rows")
    new.version.epoch = old.version.epoch
    return executed.result


def weights_of(stores: Iterable[Store], name: str) -> pa.Table:
    """Return the sum of all changes of a table: its rows, and the surplus of trusted changes of a set."""
    parts = []
    for store in stores:
        state = store.states[name]
        kept = [(state.layout, *state.rows())]
        if state.is_set:
            kept += [(state.surplus.layout, run.words, run.all_weights()) for run in state.surplus.runs]
        for layout, words, weights in kept:
            signed = weights.astype("int64")
            parts.append(decode_rows(state.relation.schema, layout, words, store.interner, signed))
    return pa.concat_tables(parts)
