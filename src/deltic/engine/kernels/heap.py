"""The pending derivations of compiled code: a binary heap by (time, relation).

An entry has a key, time · 2¹⁶ + relation; a row of at most as many words as `rows` is wide; and a weight. Weight 0 asks
to examine the row again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltic.engine.kernels.declaring import compiled
from deltic.engine.kernels.types import Int, Ints, Words2

RELATION_BITS = 16
RELATION = (1 << RELATION_BITS) - 1


class Heap(NamedTuple):
    """`size` int64[1] is the number of entries in `keys` int64[n], `rows` uint64[n, width] and `weights` int64[n]."""

    keys: Ints
    rows: Words2
    weights: Ints
    size: Ints


@compiled
def first_time(heap: Heap) -> Int:
    """Return the time of the first entry; −1 if there is none."""
    return heap.keys[0] >> RELATION_BITS if heap.size[0] else np.int64(-1)


@compiled
def with_room(heap: Heap, extra: Int) -> Heap:
    """Return the heap with room for `extra` more entries."""
    size = heap.size[0]
    if size + extra <= heap.keys.size:
        return heap
    capacity = max(2 * heap.keys.size, size + extra)
    keys = np.empty(capacity, np.int64)
    rows = np.empty((capacity, heap.rows.shape[1]), np.uint64)
    weights = np.empty(capacity, np.int64)
    for i in range(size):
        keys[i] = heap.keys[i]
        weights[i] = heap.weights[i]
        for w in range(rows.shape[1]):
            rows[i, w] = heap.rows[i, w]
    return Heap(keys, rows, weights, heap.size)


@compiled
def _copy(heap: Heap, source: Int, target: Int) -> None:
    heap.keys[target] = heap.keys[source]
    heap.weights[target] = heap.weights[source]
    for w in range(heap.rows.shape[1]):
        heap.rows[target, w] = heap.rows[source, w]


@compiled
def push(heap: Heap, time: Int, relation: Int, words: Words2, j: Int, weight: Int) -> None:
    """Add row j of `words`, uint64[width, n]; there must be room."""
    key = (np.int64(time) << RELATION_BITS) + relation
    at = heap.size[0]
    heap.size[0] += 1
    while at > 0 and heap.keys[(at - 1) >> 1] > key:
        _copy(heap, (at - 1) >> 1, at)
        at = (at - 1) >> 1
    heap.keys[at] = key
    heap.weights[at] = weight
    for w in range(words.shape[0]):
        heap.rows[at, w] = words[w, j]


@compiled
def drop_first(heap: Heap) -> None:
    """Remove the first entry."""
    size = heap.size[0] - 1
    heap.size[0] = size
    if size == 0:
        return
    key = heap.keys[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap.keys[child + 1] < heap.keys[child]:
            child += 1
        if heap.keys[child] >= key:
            break
        _copy(heap, child, at)
        at = child
    _copy(heap, size, at)
