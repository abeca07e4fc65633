"""Decides, in compiled code and without any effect, about the rows that wait for an iteration of a component."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltic.engine.kernels.component import Component, R, Scratch
from deltic.engine.kernels.declaring import compiled
from deltic.engine.kernels.heap import RELATION, Heap, drop_first, push, with_room
from deltic.engine.kernels.lost import derivations_of
from deltic.engine.kernels.merge import order_ties, sum_ordered
from deltic.engine.kernels.overlay import gather
from deltic.engine.kernels.settle import settle
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.kernels.types import Int, Ints, Times, Words2


class Decision(NamedTuple):
    """The decision about the candidates `words` of a relation, see `settle`.

    `lost` are the rows whose later counts are not kept, and `found` and `sums` their later derivations, see `lost`.
    `visited` is the number of rows visited to find them; it is −1 if they were not found, and −2 if that asks for
    values.
    """

    relation: Int
    words: Words2
    actions: Ints
    counted: Ints
    later: Times
    lost: Words2
    found: Words2
    sums: Ints
    visited: Int


@compiled
def take(heap: Heap, bits: Int, scratch: Scratch) -> Int:
    """Move what waits first into `scratch`, by relation, as far as there is room: how many entries.

    That are those whose keys differ in no more than the last `bits`: one relation, or all of an iteration.
    """
    first, n = heap.keys[0] >> bits, 0
    scratch.starts[:] = 0
    while n < scratch.changes.size and heap.size[0] and heap.keys[0] >> bits == first:
        scratch.starts[(heap.keys[0] & RELATION) + 1] += 1
        for w in range(scratch.taken.shape[1]):
            scratch.taken[n, w] = heap.rows[0, w]
        scratch.changes[n] = heap.weights[0]
        n += 1
        drop_first(heap)
    for r in range(1, scratch.starts.size):
        scratch.starts[r] += scratch.starts[r - 1]
    return n


@compiled
def put_back(heap: Heap, now: Int, scratch: Scratch) -> Heap:
    """Put the taken entries back into the queue."""
    starts = scratch.starts
    heap = with_room(heap, starts[-1])
    words = scratch.taken.T
    for r in range(starts.size - 1):
        for j in range(starts[r], starts[r + 1]):
            push(heap, now, r, words, j, scratch.changes[j])
    return heap


@compiled
def candidates(width: Int, first: Int, end: Int, scratch: Scratch) -> tuple[Words2, Ints]:
    """Return the rows of one relation of the taken entries, sorted and distinct, with the changes of their counts."""
    words = np.empty((width, end - first), np.uint64)
    for j in range(first, end):
        for w in range(width):
            words[w, j - first] = scratch.taken[j, w]
    order = np.argsort(words[0])
    if width > 1:
        order_ties(words, order)
    out, sums, n = sum_ordered(words, scratch.changes[first:end], order, True)
    return out[:, :n].copy(), sums[:n].copy()


@compiled
def decide(
    component: Component, r: Int, now: Int, keeps_all: bool, scratch: Scratch, thresholds: Thresholds
) -> Decision:
    """Decide about the taken rows of relation r for iteration `now`."""
    contents = component.relations[r, R.FIRST]
    counts = contents + component.relations[r, R.STORES]
    words, change = candidates(component.relations[r, R.WIDTH], scratch.starts[r], scratch.starts[r + 1], scratch)
    runs = scratch.runs
    row_end = gather(component, contents, False, runs, 0)
    count_end = gather(component, counts, False, runs, row_end)
    end = gather(component, component.relations[r, R.FOUND], False, runs, count_end)
    actions, counted, later, gone = settle(
        words, change, now, runs[:row_end], runs[row_end:count_end], runs[count_end:end], keeps_all
    )
    lost = words[:, np.flatnonzero(gone)].copy()
    result, sums, visited = np.empty((0, 0), np.uint64), np.empty(0, np.int64), 0
    if lost.shape[1]:
        result, sums, visited = derivations_of(lost, now, component, r, scratch, thresholds)
    return Decision(r, words, actions, counted, later, lost, result, sums, visited)
