"""The loop over the iterations of a recursion, in compiled code, for as long as few rows change in each.

Real recursions can be long and thin: tens of thousands of iterations of some dozen rows, where an iteration must not
cost an interpreter's time. This is `recursion._Epoch` for such batches: take what waits for the least iteration, settle
it, add what changed to every column order, push it through the queries, and so on. It works on tables:

* `relations` int64[R, .]: for each relation of the component its row's words, its arrangements, the last of which
  holds the counts, the queries that follow it, those that search for its lost rows, and the arrangement of what they
  found.
* `arrangements` int64[A, .]: its row's words, its immutable runs in `base`, their greatest time, how its rows are
  made from canonical ones, in `moves`, and its runs at the start of the epoch; those of lower relations never change.
* `queries` int64[Q, .] and `atoms` int64[., 3]: see `query`.
* `levels`, `spares`: what changes of each arrangement, see `overlay`. `keys`, `rows`, `weights`: the `heap`.
* `log_relations`, `log_rows`, `log_weights`: every row that was asserted or retracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from deltic.engine.local.kernels import join
from deltic.engine.local.kernels.heap import RELATION_BITS, drop_first, grown, push
from deltic.engine.local.kernels.lost import derivations_of, fill_timed
from deltic.engine.local.kernels.memory import store_i32, store_i64, store_u64
from deltic.engine.local.kernels.merge import order_ties, sum_ordered
from deltic.engine.local.kernels.overlay import (
    A_MOVE_COUNT,
    A_MOVES,
    A_WIDTH,
    DELTA,
    FAR,
    MAX_TIME,
    NEAR,
    Levels,
    absorb,
    gather,
)
from deltic.engine.local.kernels.query import Q_HEAD, finish, prepare, resume
from deltic.engine.local.kernels.search import ROWS, TIMES, WEIGHTS, WORDS
from deltic.engine.local.kernels.settle import NEVER, settle, upcoming
from deltic.engine.local.kernels.types import Int, Ints, Table, Times, Words2

# Columns of `relations`.
R_WIDTH, R_FIRST, R_STORES, R_QUERIES, R_QUERY_COUNT, R_SEARCHES, R_SEARCH_COUNT, R_FOUND = range(8)
# Fields of `progress`.
P_HEAP, P_LOG, P_VISITED, P_NOW, P_DONE = range(5)
# Why the loop ended: nothing waits; its allowance is used up; levels or the log are full; an iteration has too many
# rows; rows were lost that have too many later derivations; a query computed a value that has no place, and the epoch
# is to be abandoned.
DONE, PAUSED, LARGE, WIDE, LOST, OVERFLOW = range(6)

# Rows of one relation and iteration, of NEAR and of FAR; of the log, and those that a search hands over at once.
MOST_ROWS, NEAR_ROWS, FAR_ROWS, LOG_ROWS, CHUNK = 2048, 512, 1 << 15, 1 << 16, 1024


@njit(cache=True)
def _candidates(width: Int, first: Int, count: Int, taken: Words2, taken_weights: Ints) -> tuple[Words2, Ints]:
    """The rows of one relation among those taken, sorted and distinct, with the changes of their counts."""
    words = np.empty((width, count), np.uint64)
    change = np.empty(count, np.int64)
    for j in range(count):
        change[j] = taken_weights[first + j]
        for w in range(width):
            words[w, j] = taken[first + j, w]
    order = np.argsort(words[0])
    if width > 1:
        order_ties(words, order)
    out, sums, n = sum_ordered(words, change, order, True)
    return out[:, :n].copy(), sums[:n].copy()


@njit(cache=True)
def _fill_delta(
    level: Ints, words: Words2, order: Ints, signs: Ints, now: Int, moves: Table, first: Int, count: Int, width: Int
) -> None:
    """Write the chosen canonical rows, with their signs, into a DELTA level, in its arrangement's order."""
    n = order.size
    arranged = np.zeros((width, n), np.uint64)
    for i in range(n):
        j = order[i]
        if count == 0:
            for w in range(width):
                arranged[w, i] = words[w, j]
        for m in range(first, first + count):
            value = (words[moves[m, 0], j] >> np.uint64(moves[m, 1])) & np.uint64(moves[m, 2])
            arranged[moves[m, 3], i] |= value << np.uint64(moves[m, 4])
    by_row = np.arange(n)
    if count:
        by_row = np.argsort(arranged[0])
        if width > 1:
            order_ties(arranged, by_row)
    for i in range(n):
        for w in range(width):
            store_u64(level[WORDS] + w * n * 8, i, arranged[w, by_row[i]])
        store_i32(level[TIMES], i, np.int32(now))
        store_i64(level[WEIGHTS], i, signs[order[by_row[i]]])
    level[ROWS] = n
    level[MAX_TIME] = now


@njit(cache=True)
def _reconsider(
    keys: Ints, rows: Words2, weights: Ints, size: Int, r: Int, words: Words2, times: Times
) -> tuple[Ints, Words2, Ints, Int]:
    """Let rows of relation r wait for their iterations, but for those whose time is NEVER: the heap and its size."""
    keys, rows, weights = grown(keys, rows, weights, size, times.size)
    for j in range(times.size):
        if times[j] != NEVER:
            size = push(keys, rows, weights, size, (np.int64(times[j]) << RELATION_BITS) + r, words, j, 0)
    return keys, rows, weights, size


@njit(cache=True)
def _spill(levels: Levels, spares: Levels, a: Int, width: Int) -> None:
    """Move what NEAR holds to FAR when it is much."""
    if levels[a, NEAR, ROWS] > NEAR_ROWS:
        absorb(levels, spares, a, FAR, NEAR, width)


@njit(cache=True)
def iterate(
    relations: Table,
    arrangements: Table,
    base: Table,
    moves: Table,
    queries: Table,
    atoms: Table,
    levels: Levels,
    spares: Levels,
    keys: Ints,
    rows: Words2,
    weights: Ints,
    log_relations: Ints,
    log_rows: Words2,
    log_weights: Ints,
    progress: Ints,
    allowance: Int,
    most_runs: Int,
    keeps_all: bool,
    counts_kept: bool,
) -> tuple[Int, Ints, Words2, Ints]:
    """Go through iterations until one of the reasons to end; with the heap's arrays, which may be new ones.

    But for OVERFLOW, an iteration is done whole or not at all. `progress` says how much the heap and the log hold, adds
    up the rows visited and the iterations done, and has the iteration reached.
    """
    number = relations.shape[0]
    size = progress[P_HEAP]
    widest = rows.shape[1]
    runs = np.empty((most_runs, 4), np.int64)
    ranges = np.empty((64, 2), np.int64)
    taken = np.empty((MOST_ROWS, widest), np.uint64)
    taken_weights = np.empty(MOST_ROWS, np.int64)
    chunk = np.empty(widest * CHUNK, np.uint64)
    chunk_times = np.empty(CHUNK, np.int32)
    chunk_weights = np.empty(CHUNK, np.int64)
    starts = np.zeros(number + 1, np.int64)
    while size:
        if allowance == 0:
            progress[P_HEAP] = size
            return PAUSED, keys, rows, weights
        allowance -= 1
        now = keys[0] >> RELATION_BITS
        progress[P_NOW] = now
        # Take what waits for this iteration, by relation.
        n = 0
        starts[:] = 0
        while size and keys[0] >> RELATION_BITS == now and n < MOST_ROWS:
            starts[(keys[0] & ((1 << RELATION_BITS) - 1)) + 1] += 1
            taken[n] = rows[0]
            taken_weights[n] = weights[0]
            n += 1
            size = drop_first(keys, rows, weights, size)
        wide = size > 0 and keys[0] >> RELATION_BITS == now
        full = progress[P_LOG] + n > log_relations.size
        for r in range(number):
            starts[r + 1] += starts[r]
            first = relations[r, R_FIRST]
            full = full or levels[relations[r, R_FOUND], FAR, ROWS] > FAR_ROWS
            for a in range(first, first + relations[r, R_STORES] + 1):
                full = full or levels[a, FAR, ROWS] > FAR_ROWS
        # Decide, without effect so far.
        words_of = [np.empty((0, 0), np.uint64)]
        actions_of = [np.empty(0, np.int64)]
        counted_of = [np.empty(0, np.int64)]
        later_of = [np.empty(0, np.int32)]
        lost_of = [np.empty((0, 0), np.uint64)]
        found_of = [np.empty((0, 0), np.uint64)]
        sums_of = [np.empty(0, np.int64)]
        many: Any = False
        if not (wide or full):
            for r in range(number):
                count = starts[r + 1] - starts[r]
                width = relations[r, R_WIDTH]
                words, change = _candidates(width, starts[r], count, taken, taken_weights)
                contents = relations[r, R_FIRST]
                counts = contents + relations[r, R_STORES]
                found = relations[r, R_FOUND]
                row_count = gather(runs, 0, arrangements, base, levels, contents, False)
                count_count = gather(runs, row_count, arrangements, base, levels, counts, False)
                run_count = gather(runs, count_count, arrangements, base, levels, found, False)
                actions, counted, later, gone = settle(
                    words,
                    change,
                    now,
                    runs[:row_count],
                    runs[row_count:count_count],
                    runs[count_count:run_count],
                    keeps_all,
                )
                lost = words[:, np.flatnonzero(gone)].copy()
                if lost.shape[1]:
                    first = relations[r, R_SEARCHES]
                    found_rows, sums, visited = derivations_of(
                        lost,
                        now,
                        queries[first : first + relations[r, R_SEARCH_COUNT]],
                        atoms,
                        arrangements,
                        base,
                        levels,
                        runs,
                        ranges,
                        chunk,
                        chunk_times,
                        chunk_weights,
                        MOST_ROWS,
                    )
                    many = many or visited < 0
                    progress[P_VISITED] += max(0, visited)
                    found_of.append(found_rows)
                    sums_of.append(sums)
                else:
                    found_of.append(np.empty((0, 0), np.uint64))
                    sums_of.append(np.empty(0, np.int64))
                lost_of.append(lost)
                words_of.append(words)
                actions_of.append(actions)
                counted_of.append(counted)
                later_of.append(later)
        if wide or full or many:
            keys, rows, weights = grown(keys, rows, weights, size, n)
            one = np.empty((widest, 1), np.uint64)
            for r in range(number):
                for j in range(starts[r], starts[r + 1]):
                    for w in range(widest):
                        one[w, 0] = taken[j, w]
                    size = push(keys, rows, weights, size, (now << RELATION_BITS) + r, one, 0, taken_weights[j])
            progress[P_HEAP] = size
            return (WIDE if wide else LARGE if full else LOST), keys, rows, weights
        # Let the decisions be.
        for r in range(number):
            words, actions, counted, later = words_of[r + 1], actions_of[r + 1], counted_of[r + 1], later_of[r + 1]
            if not actions.size:
                continue
            contents = relations[r, R_FIRST]
            counts = contents + relations[r, R_STORES]
            width = relations[r, R_WIDTH]
            if counts_kept:
                _fill_delta(levels[counts, DELTA], words, np.flatnonzero(counted), counted, now, moves, 0, 0, width)
                absorb(levels, spares, counts, NEAR, DELTA, width)
            keys, rows, weights, size = _reconsider(keys, rows, weights, size, r, words, later)
            lost = lost_of[r + 1]
            if lost.shape[1]:
                found = relations[r, R_FOUND]
                fill_timed(levels[found, DELTA], found_of[r + 1], sums_of[r + 1])
                absorb(levels, spares, found, NEAR, DELTA, width)
                run_count = gather(runs, 0, arrangements, base, levels, found, False)
                following = upcoming(lost, runs[:run_count], now)
                keys, rows, weights, size = _reconsider(keys, rows, weights, size, r, lost, following)
            moved = np.flatnonzero(actions)
            if not moved.size:
                continue
            for place in moved:
                at = progress[P_LOG]
                log_relations[at] = r
                log_weights[at] = actions[place]
                for w in range(width):
                    log_rows[at, w] = words[w, place]
                progress[P_LOG] = at + 1
            for a in range(contents, counts):
                _fill_delta(
                    levels[a, DELTA],
                    words,
                    moved,
                    actions,
                    now,
                    moves,
                    arrangements[a, A_MOVES],
                    arrangements[a, A_MOVE_COUNT],
                    arrangements[a, A_WIDTH],
                )
        # Push what changed through the queries.
        for r in range(number):
            contents = relations[r, R_FIRST]
            if levels[contents, DELTA, ROWS] == 0:
                continue
            for q in range(relations[r, R_QUERIES], relations[r, R_QUERIES] + relations[r, R_QUERY_COUNT]):
                query = queries[q]
                change_rows = levels[contents, DELTA]
                run_count, timed = prepare(query, atoms, arrangements, base, levels, change_rows, now, runs, ranges)
                head = query[Q_HEAD]
                width = relations[head, R_WIDTH]
                out = chunk[: width * CHUNK].reshape((width, CHUNK))
                out_times = chunk_times[:CHUNK] if timed else chunk_times[:0]
                status = join.FULL
                while status == join.FULL:
                    status, written = resume(query, ranges, runs[:run_count], out, out_times, chunk_weights)
                    if status == join.OVERFLOW:
                        return OVERFLOW, keys, rows, weights
                    keys, rows, weights = grown(keys, rows, weights, size, written)
                    for j in range(written):
                        time: Int = np.int64(out_times[j]) if timed else now + 1
                        size = push(keys, rows, weights, size, (time << RELATION_BITS) + head, out, j, chunk_weights[j])
                progress[P_VISITED] += finish(query, change_rows[ROWS])
        # Let the change be past.
        progress[P_DONE] += 1
        for r in range(number):
            contents = relations[r, R_FIRST]
            for a in range(contents, contents + relations[r, R_STORES] + 1):
                absorb(levels, spares, a, NEAR, DELTA, arrangements[a, A_WIDTH])
                _spill(levels, spares, a, arrangements[a, A_WIDTH])
            _spill(levels, spares, relations[r, R_FOUND], relations[r, R_WIDTH])
    progress[P_HEAP] = 0
    return DONE, keys, rows, weights
