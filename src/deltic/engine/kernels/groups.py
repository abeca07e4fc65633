"""Reads the state of groups: their totals, and the first or last of their present values.

The rows of both kinds of runs are (key, x) with x in the low bits of the last word, which `mask` selects.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import load_u64
from deltic.engine.kernels.narrow import load_weight
from deltic.engine.kernels.search import ROWS, WEIGHTS, WORDS, compare_rows, find_row
from deltic.engine.kernels.types import U64, Int, Ints, Rows, Table, Words1, Words2


@compiled
def _in_group(address: Int, rows: Int, i: Int, words: Words2, j: Int, mask: U64) -> bool:
    """Return whether row i of a run has the key of row j of `words`."""
    last = words.shape[0] - 1
    for w in range(last):
        if load_u64(address + w * rows * 8, i) != words[w, j]:
            return False
    return bool((load_u64(address + last * rows * 8, i) | mask) == (words[last, j] | mask))


@kernel
def read_totals(words: Rows, mask: U64, runs: Table, slots: Int) -> tuple[Table, Int]:
    """Return the weights int64[n, slots] of (key, 0), (key, 1), … for the n sorted rows (key, 0) of `words`.

    The second result is the number of entries visited.
    """
    n = words.shape[1]
    totals = np.zeros((n, slots), np.int64)
    visited = 0
    for r in range(runs.shape[0]):
        rows = runs[r, ROWS]
        column = runs[r, WORDS] + (words.shape[0] - 1) * rows * 8
        i = 0
        for j in range(n):
            i = find_row(runs[r, WORDS], rows, i, words, j)
            visited += 1
            while i < rows and _in_group(runs[r, WORDS], rows, i, words, j, mask):
                totals[j, np.int64(load_u64(column, i) & mask)] += load_weight(runs[r, WEIGHTS], i)
                visited += 1
                i += 1
    return totals, visited


@kernel
def next_present(
    words: Rows, skips: Ints, bounds: Words1, bounded: Words1, mask: U64, forward: Int, runs: Table
) -> tuple[Words1, Ints, Ints, Int]:
    """Return, for each row (key, start), the value of that key, from start on, at which more than `skips` rows are met.

    A value of positive total weight counts as that many rows, any other as none: with no skips it is the nearest
    present value. `forward` is 1 for ascending values, 0 for descending ones. If `bounded` is not zero, only values
    before the bound count. Returns the values; their weights, which are 0 if none was found; the number of rows met
    before them; and the number of entries visited.
    """
    n = words.shape[1]
    values = np.zeros(n, np.uint64)
    weights = np.zeros(n, np.int64)
    met = np.zeros(n, np.int64)
    visited = 0
    at = np.zeros(runs.shape[0], np.int64)
    for j in range(n):
        for r in range(runs.shape[0]):
            at[r] = find_row(runs[r, WORDS], runs[r, ROWS], 0, words, j)
            here = at[r] < runs[r, ROWS] and compare_rows(runs[r, WORDS], runs[r, ROWS], at[r], words, j) == 0
            if not forward and not here:
                at[r] -= 1
            visited += 1
        while True:
            value = np.uint64(0)
            candidates = 0
            for r in range(runs.shape[0]):
                rows = runs[r, ROWS]
                if 0 <= at[r] < rows and _in_group(runs[r, WORDS], rows, at[r], words, j, mask):
                    v = load_u64(runs[r, WORDS] + (words.shape[0] - 1) * rows * 8, at[r]) & mask
                    if candidates == 0 or (v < value) == (forward == 1):
                        value = v
                    candidates += 1
            if candidates == 0 or (bounded[j] and (value >= bounds[j] if forward else value <= bounds[j])):
                break
            total = 0
            for r in range(runs.shape[0]):
                rows = runs[r, ROWS]
                if 0 <= at[r] < rows and _in_group(runs[r, WORDS], rows, at[r], words, j, mask):
                    v = load_u64(runs[r, WORDS] + (words.shape[0] - 1) * rows * 8, at[r]) & mask
                    if v == value:
                        total += load_weight(runs[r, WEIGHTS], at[r])
                        at[r] += 1 if forward else -1
                        visited += 1
            if total > 0:
                if met[j] + total > skips[j]:
                    values[j] = value
                    weights[j] = total
                    break
                met[j] += total
    return values, weights, met, visited
