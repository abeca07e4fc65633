"""Applies the decisions about an iteration in compiled code, and ends the iteration."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.component import A, Component, Log, M, R, Scratch
from deltic.engine.kernels.decide import Decision
from deltic.engine.kernels.declaring import compiled
from deltic.engine.kernels.heap import Heap, push, with_room
from deltic.engine.kernels.lost import fill_timed
from deltic.engine.kernels.memory import store_i32, store_i64, store_u64
from deltic.engine.kernels.merge import order_ties
from deltic.engine.kernels.overlay import DELTA, FAR, MAX_TIME, NEAR, absorb, gather
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS
from deltic.engine.kernels.settle import NEVER, upcoming
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.kernels.types import Int, Ints, Times, Words2


@compiled
def arranged(component: Component, a: Int, words: Words2, chosen: Ints) -> Words2:
    """Return the chosen canonical rows in the layout of arrangement a, sorted."""
    arrangement = component.arrangements[a]
    first, count = arrangement[A.MOVES], arrangement[A.MOVE_COUNT]
    rows = np.zeros((arrangement[A.WIDTH], chosen.size), np.uint64)
    for i in range(chosen.size):
        j = chosen[i]
        if count == 0:
            for w in range(rows.shape[0]):
                rows[w, i] = words[w, j]
        for m in range(first, first + count):
            move = component.moves[m]
            value = (words[move[M.WORD], j] >> np.uint64(move[M.SHIFT])) & np.uint64(move[M.MASK])
            rows[move[M.TO_WORD], i] |= value << np.uint64(move[M.TO_SHIFT])
    return rows


@compiled
def fill_delta(component: Component, a: Int, words: Words2, chosen: Ints, signs: Ints, now: Int) -> None:
    """Write the chosen canonical rows, with their signs, into the level DELTA of arrangement a."""
    level = component.levels[a, DELTA]
    rows = arranged(component, a, words, chosen)
    word = component.arrangements[a, A.TIME_WORD]
    if word >= 0:
        for i in range(chosen.size):
            rows[word, i] |= np.uint64(now) << np.uint64(component.arrangements[a, A.TIME_SHIFT])
    width, n = rows.shape
    order = np.arange(n)
    if component.arrangements[a, A.MOVE_COUNT]:
        order = np.argsort(rows[0])
        if width > 1:
            order_ties(rows, order)
    for i in range(n):
        for w in range(width):
            store_u64(level[WORDS] + w * n * 8, i, rows[w, order[i]])
        store_i32(level[TIMES], i, np.int32(now))
        store_i64(level[WEIGHTS], i, signs[chosen[order[i]]])
    level[ROWS] = n
    level[MAX_TIME] = now


@compiled
def _reconsider(heap: Heap, r: Int, words: Words2, times: Times) -> Heap:
    """Enqueue rows of relation r at their iterations, except those whose time is NEVER."""
    heap = with_room(heap, times.size)
    for j in range(times.size):
        if times[j] != NEVER:
            push(heap, np.int64(times[j]), r, words, j, 0)
    return heap


@compiled
def _note(log: Log, size: Int, decision: Decision, moved: Ints) -> Int:
    """Append the asserted and retracted rows to the log. Return its new number of entries."""
    for place in moved:
        log.relations[size] = decision.relation
        log.signs[size] = decision.actions[place]
        for w in range(decision.words.shape[0]):
            log.rows[size, w] = decision.words[w, place]
        size += 1
    return size


@compiled
def _keep_found(component: Component, heap: Heap, decision: Decision, now: Int, scratch: Scratch) -> Heap:
    """Store the later derivations of lost rows, and enqueue each row at its next derivation."""
    result = component.relations[decision.relation, R.FOUND]
    fill_timed(component.levels[result, DELTA], decision.found, decision.sums)
    absorb(component, result, NEAR, DELTA)
    count = gather(component, result, False, scratch.runs, 0)
    following = upcoming(decision.lost, scratch.runs[:count], now)
    return _reconsider(heap, decision.relation, decision.lost, following)


@compiled
def apply(
    component: Component, heap: Heap, log: Log, size: Int, decision: Decision, now: Int, counts: bool, scratch: Scratch
) -> tuple[Heap, Int]:
    """Apply a decision, except its rows, which go into the levels DELTA.

    `counts` says whether counts are kept. Returns the heap, and the new size of the log, which is `size` before.
    """
    contents = component.relations[decision.relation, R.FIRST]
    end = contents + component.relations[decision.relation, R.STORES]
    if counts:
        chosen = np.flatnonzero(decision.counted)
        fill_delta(component, end, decision.words, chosen, decision.counted, now)
        absorb(component, end, NEAR, DELTA)
    heap = _reconsider(heap, decision.relation, decision.words, decision.later)
    if decision.lost.shape[1]:
        heap = _keep_found(component, heap, decision, now, scratch)
    moved = np.flatnonzero(decision.actions)
    if moved.size:
        for a in range(contents, end):
            fill_delta(component, a, decision.words, moved, decision.actions, now)
    return heap, _note(log, size, decision, moved)


@compiled
def to_far(component: Component, a: Int, near: Int) -> None:
    """Move the entries of NEAR to FAR if there are many."""
    if component.levels[a, NEAR, ROWS] > near:
        absorb(component, a, FAR, NEAR)


@compiled
def let_be_past(component: Component, thresholds: Thresholds) -> None:
    """End an iteration: its changes become part of the past."""
    for r in range(component.relations.shape[0]):
        let_relation_be_past(component, r, thresholds)
        to_far(component, component.relations[r, R.FOUND], thresholds.near)


@compiled
def let_relation_be_past(component: Component, r: Int, thresholds: Thresholds) -> None:
    """End an iteration for one relation."""
    first = component.relations[r, R.FIRST]
    for a in range(first, first + component.relations[r, R.STORES] + 1):
        absorb(component, a, NEAR, DELTA)
        to_far(component, a, thresholds.near)


@compiled
def is_full(component: Component, far: Int) -> bool:
    """Return whether the level FAR of any arrangement has too many entries."""
    for r in range(component.relations.shape[0]):
        first = component.relations[r, R.FIRST]
        if component.levels[component.relations[r, R.FOUND], FAR, ROWS] > far:
            return True
        for a in range(first, first + component.relations[r, R.STORES] + 1):
            if component.levels[a, FAR, ROWS] > far:
                return True
    return False
