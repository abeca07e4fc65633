"""The loop over the iterations of a recursion, in compiled code, while few rows change in each.

Real recursions can be long and thin: tens of thousands of iterations of a dozen rows, where the interpreter must not
run in each. For such batches this does the work of `recursion.driver`: take the entries of the least iteration, decide
about them, add the changes to every column order, push them through the queries, and repeat. `component` describes the
tables.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels import join
from deltic.engine.kernels.admission import admitted
from deltic.engine.kernels.apply import apply, is_full, let_be_past
from deltic.engine.kernels.component import NOBODY, Component, Log, Q, R, Scratch, unpack
from deltic.engine.kernels.decide import decide, put_back, take
from deltic.engine.kernels.declaring import compiled, kernel, numbered
from deltic.engine.kernels.follow import begin_query, finish, go_on, output, read_runs
from deltic.engine.kernels.heap import RELATION_BITS, Heap, first_time, push, with_room
from deltic.engine.kernels.overlay import DELTA
from deltic.engine.kernels.running import MASK, SHIFT, WORD
from deltic.engine.kernels.search import ROWS
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.kernels.types import Int, Ints, Table, Words2

# Fields of `progress`: how much the log holds; the rows visited and the iterations done so far; the iteration reached;
# the query that paused, NONE where no iteration is in its midst; and, where one relation is followed at a time, which,
# the last iteration at which one that closes a cycle changed, and how deep that was.
AT = numbered("LOG VISITED DONE NOW QUERY RELATION LAST DEPTH")
NONE = -1
# Why the loop ended: nothing waits; its allowance is used up, or a search was long; levels or the log are full; an
# iteration has too many rows; rows were lost whose later derivations are too many, or take long to find; a query
# computed a value that has no place, and the epoch is to be abandoned; memos have entries to be answered.
DONE, PAUSED, LARGE, WIDE, LOST, OVERFLOW, ASKS = range(7)


@compiled
def _settle(
    component: Component,
    heap: Heap,
    log: Log,
    scratch: Scratch,
    progress: Ints,
    thresholds: Thresholds,
    keeps_all: bool,
    counts: bool,
) -> tuple[Int, Heap]:
    """Apply the entries of the least iteration, all of them (DONE) or none."""
    now = progress[AT.NOW]
    n = take(heap, RELATION_BITS, scratch)
    if first_time(heap) == now:
        return WIDE, put_back(heap, now, scratch)
    if progress[AT.LOG] + n > log.relations.size or is_full(component, thresholds.far):
        return LARGE, put_back(heap, now, scratch)
    decisions = [
        decide(component, r, now, keeps_all, scratch, thresholds)
        for r in range(component.relations.shape[0])
        if scratch.starts[r + 1] > scratch.starts[r]
    ]
    for decision in decisions:
        if decision.visited < 0:
            return (LOST if decision.visited == -1 else ASKS), put_back(heap, now, scratch)
    for decision in decisions:
        progress[AT.VISITED] += decision.visited
        heap, progress[AT.LOG] = apply(component, heap, log, progress[AT.LOG], decision, now, counts, scratch)
    return DONE, heap


@compiled
def _earliest(relation: Ints, words: Words2, j: Int) -> Int:
    """Return the iteration from which row j may be present in a relation that admits rows by a value; 0 for NULL."""
    place = relation[R.VALUE : R.VALUE + 3]
    offset = (words[place[WORD], j] >> np.uint64(place[SHIFT])) & np.uint64(place[MASK])
    if relation[R.NULLABLE] and offset == 0:
        return np.int64(0)
    return admitted(np.int64(offset) + relation[R.BASE], relation[R.ADMISSION])


@compiled
def _follow(
    component: Component, heap: Heap, scratch: Scratch, q: Int, change: Ints, progress: Ints, patience: Int
) -> tuple[Int, Heap]:
    """Push a change through query q, and enqueue its derivations at their iterations."""
    now = progress[AT.NOW]
    count, timed = read_runs(component, q, change, now, scratch)
    if progress[AT.QUERY] != q:
        begin_query(component, q, now, patience)
    progress[AT.QUERY] = q
    head = component.queries[q, Q.HEAD]
    out = output(scratch, component.relations[head, R.WIDTH])
    early = 1 - component.relations[head, R.DELAY]
    admits = component.relations[head, R.ADMISSION] != NOBODY
    times = scratch.times if timed else scratch.times[:0]
    status = join.FULL
    while status == join.FULL:
        status, written = go_on(component, q, count, scratch, out, times)
        heap = with_room(heap, written)
        for j in range(written):
            time: Int = (np.int64(times[j]) if timed else now + 1) - early
            if admits:
                time = max(time, _earliest(component.relations[head], out, j))
            push(heap, time, head, out, j, scratch.weights[j])
    if status == join.DONE:
        progress[AT.VISITED] += finish(component, q, change[ROWS])
    return status, heap


@compiled
def push_all(component: Component, heap: Heap, scratch: Scratch, progress: Ints, patience: Int) -> tuple[Int, Heap]:
    """Push the changes through the queries, starting with the one that paused."""
    for r in range(component.relations.shape[0]):
        change = component.levels[component.relations[r, R.FIRST], DELTA]
        if change[ROWS] == 0:
            continue
        first = component.relations[r, R.QUERIES]
        for q in range(max(first, progress[AT.QUERY]), first + component.relations[r, R.QUERY_COUNT]):
            status, heap = _follow(component, heap, scratch, q, change, progress, patience)
            if status != join.DONE:
                return (OVERFLOW if status == join.OVERFLOW else ASKS if status == join.ASKS else PAUSED), heap
    progress[AT.QUERY] = NONE
    return DONE, heap


@compiled
def _iterate(
    arrays: Table, heap: Heap, progress: Ints, thresholds: Thresholds, keeps_all: bool, counts: bool
) -> tuple[Int, Heap]:
    component, log, scratch = unpack(arrays)
    for _ in range(thresholds.allowance):
        if progress[AT.QUERY] == NONE:
            if heap.size[0] == 0:
                return DONE, heap
            progress[AT.NOW] = first_time(heap)
            status, heap = _settle(component, heap, log, scratch, progress, thresholds, keeps_all, counts)
            if status != DONE:
                return status, heap
        status, heap = push_all(component, heap, scratch, progress, thresholds.patience)
        if status != DONE:
            return status, heap
        let_be_past(component, thresholds)
        progress[AT.DONE] += 1
    return PAUSED, heap


@kernel
def iterate(
    arrays: Table, heap: Heap, progress: Ints, thresholds: Thresholds, keeps_all: bool, counts: bool
) -> tuple[Int, Ints, Words2, Ints, Ints]:
    """Run iterations until one of the reasons to end. Return it with the fields of the heap, whose arrays may be new.

    `arrays` are the `addresses` of a component, a log and working memory. `counts` says whether counts are kept,
    `keeps_all` whether at every iteration. The caller must continue an iteration that PAUSED or ASKS. Except for these
    and OVERFLOW, an iteration is done completely or not at all.
    """
    status, heap = _iterate(arrays, heap, progress, thresholds, keeps_all, counts)
    return status, heap.keys, heap.rows, heap.weights, heap.size
