"""The loop over the changes of histories, in compiled code, while few rows change at a time.

For such batches this does the work of `recursion.driver`: take the entries of the least iteration and, in it, of the
first relation in the order of the body; add them to its history; examine its rows; push them through the queries.
`component` describes the tables.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.admission import depth_of
from deltic.engine.kernels.aggregates import examine_groups
from deltic.engine.kernels.apply import arranged, fill_delta, is_full, let_relation_be_past, to_far
from deltic.engine.kernels.component import NOBODY, Component, Log, R, Scratch, unpack
from deltic.engine.kernels.decide import candidates, put_back, take
from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.heap import RELATION, RELATION_BITS, Heap, push, with_room
from deltic.engine.kernels.histories import examine_rows
from deltic.engine.kernels.iterate import AT, DONE, LARGE, NONE, PAUSED, WIDE, push_all
from deltic.engine.kernels.join import MOST
from deltic.engine.kernels.overlay import DELTA, gather
from deltic.engine.kernels.search import ROWS
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.kernels.types import Int, Ints, Table, Words2


@compiled
def _note(log: Log, size: Int, r: Int, words: Words2, change: Ints, moved: Ints) -> Int:
    """Append the changed rows to the log. Return its new number of entries."""
    for place in moved:
        log.relations[size] = r
        log.signs[size] = change[place]
        for w in range(words.shape[0]):
            log.rows[size, w] = words[w, place]
        size += 1
    return size


@compiled
def _examine_set(
    component: Component, heap: Heap, r: Int, words: Words2, now: Int, scratch: Scratch
) -> tuple[Heap, Int]:
    """Enqueue the changes of the set of a relation's rows, and rows for their next iteration. Return the entries
    visited.
    """
    first, examined = component.relations[r, R.FIRST], component.relations[r, R.EXAMINED]
    own = arranged(component, component.relations[r, R.FOUND], words, np.arange(words.shape[1]))
    delay, runs = component.relations[examined, R.DELAY], scratch.runs
    end = gather(component, first, True, runs, 0)
    target = gather(component, component.relations[examined, R.FIRST], False, runs, end)
    drift = gather(component, first + component.relations[r, R.STORES], True, runs, target)
    actions, following, visited = examine_rows(words, own, now, delay, runs[:end], runs[end:target], runs[target:drift])
    heap = with_room(heap, 2 * actions.size)
    for j in range(actions.size):
        if actions[j]:
            push(heap, now + delay, examined, own, j, actions[j])
        if following[j] >= 0:
            push(heap, following[j], r, words, j, 0)
    return heap, visited


@compiled
def _examine(
    component: Component, heap: Heap, r: Int, words: Words2, now: Int, scratch: Scratch, progress: Ints, near: Int
) -> tuple[bool, Heap]:
    """Examine the changes of a relation. Return False, without any effect, if that is not for compiled code."""
    done, visited = True, np.int64(0)
    if component.relations[r, R.AGGREGATE] == NOBODY:
        heap, visited = _examine_set(component, heap, r, words, now, scratch)
    else:
        done, heap, visited = examine_groups(component, heap, r, words, now, scratch)
        to_far(component, component.relations[r, R.FOUND], near)
    progress[AT.VISITED] += visited
    return done, heap


@compiled
def _settle(
    component: Component,
    heap: Heap,
    log: Log,
    scratch: Scratch,
    progress: Ints,
    thresholds: Thresholds,
    updates: bool,
    admits: bool,
    limit: Int,
) -> tuple[Int, Heap]:
    """Add the first entries to their relation's history, all of them (DONE) or none, and examine them."""
    key = heap.keys[0]
    now, r = key >> RELATION_BITS, key & RELATION
    progress[AT.NOW], progress[AT.RELATION] = now, r
    n = take(heap, 0, scratch)
    if heap.size[0] and heap.keys[0] == key:
        return WIDE, put_back(heap, now, scratch)
    if progress[AT.LOG] + n > log.relations.size or is_full(component, thresholds.far):
        return LARGE, put_back(heap, now, scratch)
    words, change = candidates(component.relations[r, R.WIDTH], scratch.starts[r], scratch.starts[r + 1], scratch)
    moved = np.flatnonzero(change)
    delay, examined = component.relations[r, R.DELAY], component.relations[r, R.EXAMINED]
    depth = depth_of(now, progress[AT.LAST], progress[AT.DEPTH]) if admits else now
    if (moved.size and delay and depth > limit) or (change > MOST).any() or (change < -MOST).any():
        return WIDE, put_back(heap, now, scratch)
    first = component.relations[r, R.FIRST]
    drift = first + component.relations[r, R.STORES]
    if moved.size:
        for a in range(first, drift):
            fill_delta(component, a, words, moved, change, now)
        if updates and examined != NOBODY:
            fill_delta(component, drift, words, moved, change, 0)
    if examined != NOBODY:
        done, heap = _examine(component, heap, r, words, now, scratch, progress, thresholds.near)
        if not done:
            component.levels[first : drift + 1, DELTA, ROWS] = 0
            return WIDE, put_back(heap, now, scratch)
    if moved.size and delay:
        progress[AT.LAST], progress[AT.DEPTH] = now, depth
        if updates:
            progress[AT.LOG] = _note(log, progress[AT.LOG], r, words, change, moved)
    return DONE, heap


@compiled
def _follow_histories(
    arrays: Table, heap: Heap, progress: Ints, thresholds: Thresholds, updates: bool, admits: bool, limit: Int
) -> tuple[Int, Heap]:
    component, log, scratch = unpack(arrays)
    for _ in range(thresholds.allowance):
        if progress[AT.QUERY] == NONE:
            if heap.size[0] == 0:
                return DONE, heap
            status, heap = _settle(component, heap, log, scratch, progress, thresholds, updates, admits, limit)
            if status != DONE:
                return status, heap
        status, heap = push_all(component, heap, scratch, progress, thresholds.patience)
        if status != DONE:
            return status, heap
        let_relation_be_past(component, progress[AT.RELATION], thresholds)
        progress[AT.DONE] += 1
    return PAUSED, heap


@kernel
def follow_histories(
    arrays: Table, heap: Heap, progress: Ints, thresholds: Thresholds, updates: bool, admits: bool, limit: Int
) -> tuple[Int, Ints, Words2, Ints, Ints]:
    """Follow changes until one of the reasons of `iterate` to end; with the heap's fields, whose arrays may be new.

    `updates` says that this is no computation from nothing: drifts and changes are kept then. `admits` says that rows
    are admitted by their values. WIDE also stands for a change that ends the epoch: of a relation that closes a cycle
    deeper than `limit`, or of weights that overflow.
    """
    status, heap = _follow_histories(arrays, heap, progress, thresholds, updates, admits, limit)
    return status, heap.keys, heap.rows, heap.weights, heap.size
