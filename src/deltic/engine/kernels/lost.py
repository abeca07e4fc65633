"""Searches for the later derivations of lost rows, in compiled iterations; see `recursion.lost` and `iterate`."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels import join
from deltic.engine.kernels.component import Component, R, Scratch
from deltic.engine.kernels.declaring import compiled
from deltic.engine.kernels.follow import begin_query, finish, go_on, output, read_runs
from deltic.engine.kernels.memory import store_i32, store_i64, store_u64
from deltic.engine.kernels.merge import order_ties, sum_ordered
from deltic.engine.kernels.overlay import MAX_TIME
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.kernels.types import Int, Ints, Words2


@compiled
def derivations_of(
    words: Words2, now: Int, component: Component, r: Int, scratch: Scratch, thresholds: Thresholds
) -> tuple[Words2, Ints, Int]:
    """Return the derivations after `now` that rows of relation r had before the epoch, and the number of rows visited.

    The rows are uint64[width + 1, n], sorted, the last word the iteration, with their sums int64[n]. If there are too
    many, the search is long, or a computed value has no place, there are none, and −1 instead of the rows visited; −2
    if the search asks for values.
    """
    width, count = words.shape
    most = thresholds.most_rows
    result = np.empty((width + 1, most), np.uint64)
    weights = np.empty(most, np.int64)
    change = np.zeros(4, np.int64)
    change[ROWS] = count
    change[WORDS] = words.ctypes.data
    out = output(scratch, width)
    n = 0
    visited = 0
    first = component.relations[r, R.SEARCHES]
    for q in range(first, first + component.relations[r, R.SEARCH_COUNT]):
        run_count, _ = read_runs(component, q, change, 0, scratch)
        begin_query(component, q, 0, thresholds.patience)
        status = join.FULL
        while status == join.FULL:
            status, written = go_on(component, q, run_count, scratch, out, scratch.times)
            for j in range(written):
                if scratch.times[j] <= now:
                    continue
                if n == most:
                    status = join.OVERFLOW
                    break
                for w in range(width):
                    result[w, n] = out[w, j]
                result[width, n] = np.uint64(scratch.times[j])
                weights[n] = scratch.weights[j]
                n += 1
        if status != join.DONE:
            return np.empty((0, 0), np.uint64), np.empty(0, np.int64), -2 if status == join.ASKS else -1
        visited += finish(component, q, count)
    order = np.argsort(result[0, :n])
    order_ties(result, order)
    rows, sums, n = sum_ordered(result, weights, order, False)
    return rows[:, :n].copy(), sums[:n].copy(), visited


@compiled
def fill_timed(level: Ints, rows: Words2, sums: Ints) -> None:
    """Write these derivations into a level DELTA."""
    width = rows.shape[0] - 1
    n = sums.size
    for i in range(n):
        for w in range(width):
            store_u64(level[WORDS] + w * n * 8, i, rows[w, i])
        store_i32(level[TIMES], i, np.int32(rows[width, i]))
        store_i64(level[WEIGHTS], i, sums[i])
        level[MAX_TIME] = max(level[MAX_TIME], np.int64(rows[width, i]))
    level[ROWS] = n
