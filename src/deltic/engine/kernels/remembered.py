"""A hash table of ids, each with its place in an array: `slots` holds the place plus 1, or 0 where it is free."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.types import Int, Ints


@compiled
def _slot_of(id_: Int, known: Ints, slots: Ints) -> Int:
    """The slot of an id, or the free one in which it belongs."""
    mask = np.uint64(slots.size - 1)
    mixed = np.uint64(id_) * np.uint64(0x9E3779B97F4A7C15)
    slot = (mixed >> np.uint64(32)) & mask
    while slots[slot] != 0 and known[slots[slot] - 1] != id_:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def find(ids: Ints, known: Ints, slots: Ints) -> Ints:
    """The places of ids among the known ones, -1 for any other."""
    places = np.empty(ids.size, np.int64)
    for i in range(ids.size):
        places[i] = slots[_slot_of(ids[i], known, slots)] - 1
    return places


@kernel
def enter(known: Ints, first: Int, slots: Ints) -> None:
    """Enter the ids from place `first` on, all of them new; more slots than ids are needed."""
    for i in range(first, known.size):
        slots[_slot_of(known[i], known, slots)] = i + 1
