"""Input batches: Arrow tables to packed changes of a table and back, checked against the table's contents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, cast

import numpy as np
import pyarrow as pa

from deltic.engine.batches import Changed, in_memory
from deltic.engine.changes import ViewChange, count
from deltic.engine.conflicts import SHOWN, Conflict, ConflictError, Conflicts
from deltic.engine.interrupts import postponed
from deltic.engine.storage.arrow_columns import encode_columns
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.codec import decode_rows
from deltic.engine.storage.columns import Column, fit, reaches
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.run import NO_WEIGHTS, Run, Weights, Words, add_runs, consolidate
from deltic.engine.storage.spilling import pieces
from deltic.engine.storage.state import State
from deltic.engine.storage.unique import weights_alike
from deltic.errors import ChangeError

# The columns of a batch as int64 values with their NULLs, and its weights.
Encoded = tuple[Sequence[Column], Weights]


def encode_batch(table: str, given: Changed, state: State, interner: Interner) -> Encoded:
    """Return the columns of a table's batch as int64 values, and its weights. ChangeError if the batch is not valid."""
    batch, schema = in_memory(table, given, state.relation.schema), state.relation.schema
    return encode_columns([part.rows for part in (batch, *batch.more)], schema, interner), batch.weights()


def make_room(state: State, columns: Sequence[Column]) -> None:
    """Extend the relation's domains to the values of a batch. Layouts are stale until they are repacked."""
    if fit(state.domains, columns):
        return
    for (values, nulls), domain, (low, high) in zip(columns, state.domains, reaches(columns), strict=True):
        if low <= high and (domain.is_turned or not domain.fits(low, high)):
            domain.admit(values if nulls is None else values[~nulls])


def table_change(
    name: str,
    state: State,
    columns: Sequence[Column],
    weights: Weights,
    conflicts: Conflicts,
    interner: Interner,
    key: Sequence[int] = (),
) -> tuple[Run | None, Weights]:
    """Return the change of a table, or None if nothing changes. ChangeError for conflicting rows, see `conflicts`.

    With it come, for `check_unique`, the weights of the rows with the key of each changed row.
    """
    words, change = packed(state, columns, weights)
    alike, by_key = NO_WEIGHTS, cast(Any, slice(None))
    if conflicts == "trust":
        moved = _trusted(state, words, change)
    elif _is_new(state) and (change == 1).all():
        moved = change
    else:
        held, alike, by_key = weights_alike(state, key, words)
        old = np.maximum(held, 0)
        most = old + change if not state.is_set else np.minimum(old + change, 1)
        new = np.maximum(most, 0)
        if conflicts == "error" and np.count_nonzero(wrong := new != old + change):
            raise _conflict(name, state, words[:, wrong], old[wrong], change[wrong], interner)
        _drop_surplus(state, words)
        moved = new - held
    if np.count_nonzero(moved) < len(moved):
        there = moved != 0
        alike = alike[there[by_key]] if alike.size else alike
        words, moved = words[:, there], moved[there]
    return Run(words, weights=moved) if len(moved) else None, alike


def _trusted(state: State, words: Words, change: Weights) -> Weights:
    """Return the effective change of a table whose changes are not checked.

    A set stores the surplus of its rows' weights beside the rows, so that its rows are the `distinct` of all
    changes, H of [DBSP Prop. 6.12].
    """
    if not state.is_set:
        return change
    old = state.contents.weights_of(words)
    before = state.surplus.weights_of(words)
    moved: Weights = (old + before + change > 0) - old
    _add_surplus(state, words, change - moved)
    return moved


def _is_new(state: State) -> bool:
    """Return whether a table has no rows and no surplus."""
    return not state.contents.runs and not (state.is_set and state.surplus.runs)


def _drop_surplus(state: State, words: Words) -> None:
    """Forget the surplus of a table's rows."""
    if state.is_set and state.surplus.runs:
        _add_surplus(state, words, -state.surplus.weights_of(words))


def _add_surplus(state: State, words: Words, change: Weights) -> None:
    moved = change != 0
    if moved.any():
        state.surplus.runs = add_runs(state.surplus.runs, Run(words[:, moved], weights=change[moved]))


def packed(state: State, columns: Sequence[Column], weights: Weights) -> tuple[Words, Weights]:
    """Return the distinct rows of a batch, sorted, with their summed weights. Works in pieces if memory is short."""
    parts = pieces(len(weights))
    if len(parts) == 1:
        return consolidate(state.layout.pack((), len(weights), columns), weights)
    total = CountChanges()
    for part in parts:
        some = [(values[part], None if nulls is None else nulls[part]) for values, nulls in columns]
        words, sums = consolidate(state.layout.pack((), part.stop - part.start, some), weights[part])
        total.add_run(Run(words, weights=sums))
    return total.total() or state.layout.no_rows()


def _conflict(name: str, state: State, words: Words, old: Weights, change: Weights, interner: Interner) -> ChangeError:
    """Return the error for conflicting changes, with examples."""
    kinds = []
    for comes, is_there in product((True, False), repeat=2):
        same = ((change > 0) == comes) & ((old > 0) == is_there)
        if same.any():
            rows = decode_rows(state.relation.schema, state.layout, words[:, same][:, :SHOWN], interner)
            examples = [tuple(row.values()) for row in rows.to_pylist()] or [()]
            kinds.append(Conflict(is_there, comes, examples, int(same.sum())))
    return ConflictError(name, kinds)


def view_change(state: State, run: Run, interner: Interner) -> ViewChange:
    """Return a view's change, decoded on demand. Its run and layout never change, so this is possible at any time."""
    schema, layout = state.relation.schema, state.layout

    def to_arrow() -> pa.Table:
        with postponed:
            return decode_rows(schema, layout, run.words, interner, run.all_weights())

    return ViewChange(*(count(run.weights) if run.weights.size else (len(run), 0)), len(run), to_arrow)
