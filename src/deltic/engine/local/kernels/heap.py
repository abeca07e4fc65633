"""Derivations that wait for their iterations, in compiled code: a binary heap by (time, relation).

An entry is a key, time · 2¹⁶ + relation, a row of at most as many words as `rows` is wide, and a weight; weight 0 asks
to look at the row again.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from deltic.engine.local.kernels.types import Int, Ints, Words2

RELATION_BITS = 16


@njit(cache=True)
def grown(keys: Ints, rows: Words2, weights: Ints, size: Int, extra: Int) -> tuple[Ints, Words2, Ints]:
    """The arrays of the heap, with room for `extra` entries more."""
    if size + extra <= keys.size:
        return keys, rows, weights
    capacity = max(2 * keys.size, size + extra)
    more_keys = np.empty(capacity, np.int64)
    more_rows = np.empty((capacity, rows.shape[1]), np.uint64)
    more_weights = np.empty(capacity, np.int64)
    more_keys[:size] = keys[:size]
    more_rows[:size] = rows[:size]
    more_weights[:size] = weights[:size]
    return more_keys, more_rows, more_weights


@njit(cache=True)
def _copy(keys: Ints, rows: Words2, weights: Ints, source: Int, target: Int) -> None:
    keys[target] = keys[source]
    weights[target] = weights[source]
    for w in range(rows.shape[1]):
        rows[target, w] = rows[source, w]


@njit(cache=True)
def push(keys: Ints, rows: Words2, weights: Ints, size: Int, key: Int, words: Words2, j: Int, weight: Int) -> Int:
    """Add row j of `words`, uint64[width, n]; there must be room. The new size."""
    at = size
    while at > 0 and keys[(at - 1) >> 1] > key:
        _copy(keys, rows, weights, (at - 1) >> 1, at)
        at = (at - 1) >> 1
    keys[at] = key
    weights[at] = weight
    for w in range(words.shape[0]):
        rows[at, w] = words[w, j]
    return size + 1


@njit(cache=True)
def drop_first(keys: Ints, rows: Words2, weights: Ints, size: Int) -> Int:
    """Remove the first entry. The new size."""
    size -= 1
    if size == 0:
        return 0
    key = keys[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        _copy(keys, rows, weights, child, at)
        at = child
    _copy(keys, rows, weights, size, at)
    return size
