"""Searching for the later derivations of lost rows, in compiled iterations; see `recursion._Epoch` and `iterate`."""

from __future__ import annotations

import numpy as np
from numba import njit

from deltic.engine.local.kernels import join
from deltic.engine.local.kernels.memory import store_i32, store_i64, store_u64
from deltic.engine.local.kernels.merge import order_ties, sum_ordered
from deltic.engine.local.kernels.overlay import MAX_TIME, Levels
from deltic.engine.local.kernels.query import finish, prepare, resume
from deltic.engine.local.kernels.search import ROWS, TIMES, WEIGHTS, WORDS
from deltic.engine.local.kernels.types import Int, Ints, Table, Times, Weights, Words1, Words2


@njit(cache=True)
def derivations_of(
    words: Words2,
    now: Int,
    queries: Table,
    atoms: Table,
    arrangements: Table,
    base: Table,
    levels: Levels,
    runs: Table,
    ranges: Table,
    chunk: Words1,
    chunk_times: Times,
    chunk_weights: Weights,
    most: Int,
) -> tuple[Words2, Ints, Int]:
    """The derivations after `now` that these rows had before the epoch, by the given queries, and the rows visited.

    uint64[width + 1, n], the last word of each the iteration, sorted, with their sums int64[n]. When there are more
    than `most`, or a computed value has no place, none are returned, and −1 for the rows visited.
    """
    width, count = words.shape
    found = np.empty((width + 1, most), np.uint64)
    weights = np.empty(most, np.int64)
    change = np.zeros(4, np.int64)
    change[ROWS] = count
    change[WORDS] = words.ctypes.data
    out = chunk[: width * chunk_times.size].reshape((width, chunk_times.size))
    n = 0
    visited = 0
    for q in range(queries.shape[0]):
        run_count, _ = prepare(queries[q], atoms, arrangements, base, levels, change, 0, runs, ranges)
        status = join.FULL
        while status == join.FULL:
            status, written = resume(queries[q], ranges, runs[:run_count], out, chunk_times, chunk_weights)
            if status == join.OVERFLOW:
                return np.empty((0, 0), np.uint64), np.empty(0, np.int64), -1
            for j in range(written):
                if chunk_times[j] <= now:
                    continue
                if n == most:
                    return np.empty((0, 0), np.uint64), np.empty(0, np.int64), -1
                for w in range(width):
                    found[w, n] = out[w, j]
                found[width, n] = np.uint64(chunk_times[j])
                weights[n] = chunk_weights[j]
                n += 1
        visited += finish(queries[q], count)
    order = np.argsort(found[0, :n])
    order_ties(found, order)
    rows, sums, n = sum_ordered(found, weights, order, False)
    return rows[:, :n].copy(), sums[:n].copy(), visited


@njit(cache=True)
def fill_timed(level: Ints, rows: Words2, sums: Ints) -> None:
    """Write such derivations into a DELTA level."""
    width = rows.shape[0] - 1
    n = sums.size
    for i in range(n):
        for w in range(width):
            store_u64(level[WORDS] + w * n * 8, i, rows[w, i])
        store_i32(level[TIMES], i, np.int32(rows[width, i]))
        store_i64(level[WEIGHTS], i, sums[i])
        level[MAX_TIME] = max(level[MAX_TIME], np.int64(rows[width, i]))
    level[ROWS] = n
