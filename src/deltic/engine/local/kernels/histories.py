"""Reading histories: runs of (row, iteration) with changes of weight, see `kernels.search` for their descriptors."""

from __future__ import annotations

import numpy as np

from deltic.engine.local.kernels.declaring import kernel
from deltic.engine.local.kernels.narrow import load_time, load_weight
from deltic.engine.local.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, compare_rows, find_row
from deltic.engine.local.kernels.types import Int, Ints, Rows, Table

NONE = np.int64(-1)


@kernel
def weights_until(words: Rows, runs: Table, until: Int) -> tuple[Ints, Ints, Int]:
    """The weight of each row at iteration `until`, and the next one at which it has an entry, `NONE` if there is none.

    `words` are sorted and distinct. The third result is the number of entries looked at.
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
def ranges(lows: Rows, highs: Rows, runs: Table) -> Table:
    """Where the entries from each row of `lows` to that of `highs` start and end: int64[runs · n, 2].

    The ranges are sorted and do not overlap.
    """
    n = lows.shape[1]
    found = np.zeros((runs.shape[0] * n, 2), np.int64)
    for r in range(runs.shape[0]):
        rows = runs[r, ROWS]
        i = 0
        for j in range(n):
            i = find_row(runs[r, WORDS], rows, i, lows, j)
            found[r * n + j, 0] = i
            i = find_row(runs[r, WORDS], rows, i, highs, j)
            while i < rows and compare_rows(runs[r, WORDS], rows, i, highs, j) == 0:
                i += 1
            found[r * n + j, 1] = i
    return found
