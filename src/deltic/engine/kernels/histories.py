"""Reads histories: runs of (row, iteration) with changes of weight; `kernels.search` describes runs."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.narrow import load_time, load_weight
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, compare_rows, find_row
from deltic.engine.kernels.settle import totals
from deltic.engine.kernels.types import Int, Ints, Rows, Table, Words2

NONE = np.int64(-1)


@compiled
def _weights_until(words: Words2, runs: Table, until: Int) -> tuple[Ints, Ints, Int]:
    """Return the weight of each row at iteration `until`, and its next iteration with an entry, `NONE` without one.

    `words` are sorted and distinct. The third result is the number of entries visited.
    """
    n = words.shape[1]
    sums = np.zeros(n, np.int64)
    following = np.full(n, NONE, np.int64)
    visited = 0
    for r in range(runs.shape[0]):
        address, rows, times, weights = runs[r, WORDS], runs[r, ROWS], runs[r, TIMES], runs[r, WEIGHTS]
        i = 0
        for j in range(n):
            i = find_row(address, rows, i, words, j)
            while i < rows and compare_rows(address, rows, i, words, j) == 0:
                time = load_time(times, i)
                visited += 1
                if time <= until:
                    sums[j] += load_weight(weights, i)
                elif following[j] < 0 or time < following[j]:
                    following[j] = time
                i += 1
    return sums, following, visited


@kernel
def examine_rows(
    words: Rows, own: Rows, now: Int, delay: Int, source: Table, target: Table, drift: Table
) -> tuple[Ints, Ints, Int]:
    """Examine rows of a relation at iteration `now`: how its set changes, and when to examine them again.

    `words` are rows of the relation, sorted and distinct, and `own` the same rows in the layout of the set, which has
    them `delay` iterations later. `drift` are runs of the changes of the epoch. Returns the change of each row in the
    set, the next iteration at which to examine it (`NONE` if there is none), and the number of entries visited.
    """
    sums, following, visited = _weights_until(words, source, now)
    had, _, more = _weights_until(own, target, now + delay)
    for j in range(sums.size):
        sums[j] = np.int64(sums[j] > 0) - had[j]
    if (following >= 0).any():
        drifts = totals(words, drift)
        for j in range(sums.size):
            if drifts[j] == 0:
                following[j] = NONE
    return sums, following, visited + more


@kernel
def ranges(lows: Rows, highs: Rows, runs: Table) -> Table:
    """Return the start and end of the entries from each row of `lows` to the one of `highs`: int64[runs · n, 2].

    The ranges are sorted and do not overlap.
    """
    n = lows.shape[1]
    result = np.zeros((runs.shape[0] * n, 2), np.int64)
    for r in range(runs.shape[0]):
        rows = runs[r, ROWS]
        i = 0
        for j in range(n):
            i = find_row(runs[r, WORDS], rows, i, lows, j)
            result[r * n + j, 0] = i
            i = find_row(runs[r, WORDS], rows, i, highs, j)
            while i < rows and compare_rows(runs[r, WORDS], rows, i, highs, j) == 0:
                i += 1
            result[r * n + j, 1] = i
    return result
