"""Keys of tables: no two rows agree in the columns of the key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.engine.kernels.shared import find_shared
from deltic.engine.keyed import Keyed, shared_keys
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.lookup import find_rows
from deltic.engine.storage.run import Run, near
from deltic.engine.storage.state import State


def check_unique(table: str, key: Sequence[int], state: State, interner: Interner) -> None:
    """Raise SharedKeys if a row that the change of a table adds has the key of another row.

    The table has an order that begins with the columns of its key.
    """
    change = state.delta
    if change is None or not len(key):
        return
    order = next(order for order in state.by_order if sorted(order[: len(key)]) == sorted(key))
    if _has_shared(state.by_order[order], state.arranged(change, order), len(key)):
        frozen, come = state.frozen(), change.all_weights() > 0
        values = state.layout.values(change.words[:, come])
        rows = frozen.shown(*find_rows(frozen, {c: values[c] for c in key}, {}), interner, counted=False)
        raise shared_keys(Keyed(table, tuple(state.relation.schema.names[column] for column in key)), rows)


def _has_shared(arrangement: Arrangement, change: Run, columns: int) -> bool:
    """Return whether an added row equals another row of the order in its first `columns` columns."""
    last = arrangement.layout.places[columns - 1]
    mask = ((1 << 64) - 1) >> last.shift << last.shift
    low = change.words[0] & np.uint64(mask) if last.word == 0 else change.words[0]
    high = change.words[0] | np.uint64(mask ^ ((1 << 64) - 1)) if last.word == 0 else change.words[0]
    runs = descriptors(near(arrangement.runs, low, high))
    return bool(find_shared(change.words, change.weights.astype(np.int64), last.word + 1, np.uint64(mask), runs) >= 0)
