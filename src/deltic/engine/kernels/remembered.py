"""A hash table from ids to their places in an array: a slot of `slots` is a place plus 1, or 0 if it is free."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.types import Int, Ints


@compiled
def _slot_of(id_: Int, known: Ints, slots: Ints) -> Int:
    """Return the slot of an id, or the free slot for it."""
    mask = np.uint64(slots.size - 1)
    mixed = np.uint64(id_) * np.uint64(0x9E3779B97F4A7C15)
    slot = (mixed >> np.uint64(32)) & mask
    while slots[slot] != 0 and known[slots[slot] - 1] != id_:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def find(ids: Ints, known: Ints, slots: Ints) -> Ints:
    """Return the places of ids among the known ones, -1 for unknown ones."""
    places = np.empty(ids.size, np.int64)
    for i in range(ids.size):
        places[i] = slots[_slot_of(ids[i], known, slots)] - 1
    return places


@kernel
def enter(known: Ints, first: Int, slots: Ints) -> None:
    """Enter ids from place `first` on, all of them new; there must be more slots than ids."""
    for i in range(first, known.size):
        slots[_slot_of(known[i], known, slots)] = i + 1
