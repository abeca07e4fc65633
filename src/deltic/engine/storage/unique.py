"""Keys of tables: no two rows agree in the columns of the key.

A table with a key has an order that begins with its columns. One search there finds how often a row is in the table,
and how many rows have its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from deltic.engine.kernels.shared import adds_shared
from deltic.engine.keyed import Keyed, shared_keys
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.lookup import find_rows
from deltic.engine.storage.run import Weights, Words, sort_order
from deltic.engine.storage.state import State


def weights_alike(state: State, key: Sequence[int], words: Words) -> tuple[Weights, Weights, Any]:
    """Return the weight of each row, that of all rows with its key, and the order of the latter: by key.

    Without a key, a row is its own one.
    """
    if not len(key):
        held = state.contents.weights_of(words)
        return held, held, slice(None)
    store, order = _by_key(state, key), cast(Any, slice(None))
    if store.order != state.canonical:
        words = store.placed(state.layout, words)
        order = sort_order(words)
        words = words[:, order]
    found, alike = store.weights_alike(words, store.layout.mask(len(key)))
    held = np.empty_like(found)
    held[order] = found
    return held, alike, order


def check_unique(table: str, key: Sequence[int], state: State, alike: Weights, interner: Interner) -> None:
    """Raise SharedKeys if a row that the change of a table adds has the key of another row.

    `alike` are the weights of the rows with the key of each changed row, before the change and by key.
    """
    change = state.delta
    if change is None or not len(key):
        return
    store = _by_key(state, key)
    arranged = state.arranged(change, store.order)
    if adds_shared(arranged.words, arranged.all_weights(), store.layout.mask(len(key)), alike):
        frozen, come = state.frozen(), change.all_weights() > 0
        values = state.layout.values(change.words[:, come])
        rows = frozen.shown(*find_rows(frozen, {c: values[c] for c in key}, {}), interner, counted=False)
        raise shared_keys(Keyed(table, tuple(state.relation.schema.names[column] for column in key)), rows)


def _by_key(state: State, key: Sequence[int]) -> Arrangement:
    return next(state.by_order[order] for order in state.by_order if sorted(order[: len(key)]) == sorted(key))
