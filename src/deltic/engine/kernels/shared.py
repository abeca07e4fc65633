"""Rows of sorted runs that begin alike: the words before the last one wanted, and of that the bits of a mask."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import load_u64
from deltic.engine.kernels.narrow import load_weight
from deltic.engine.kernels.search import ROWS, WEIGHTS, WORDS
from deltic.engine.kernels.types import U64, Int, Ints, Table, Words2


@compiled
def _compare(address: Int, rows: Int, i: Int, words: Words2, j: Int, width: Int, mask: U64) -> Int:
    """Sign of (the beginning of row i of a run) − (that of row j of `words`)."""
    for w in range(width):
        a = load_u64(address + w * rows * 8, i)
        b = words[w, j]
        if w == width - 1:
            a &= mask
            b &= mask
        if a != b:
            return -1 if a < b else 1
    return 0


@compiled
def _find(address: Int, rows: Int, start: Int, words: Words2, j: Int, width: Int, mask: U64) -> Int:
    """The first row of a run from `start` on that begins like row j, or later; quick when near `start`."""
    step = 1
    while start + step <= rows and _compare(address, rows, start + step - 1, words, j, width, mask) < 0:
        start += step
        step <<= 1
    end = min(start + step - 1, rows)
    while start < end:
        middle = (start + end) >> 1
        if _compare(address, rows, middle, words, j, width, mask) < 0:
            start = middle + 1
        else:
            end = middle
    return start


@kernel
def find_shared(words: Words2, weights: Ints, width: Int, mask: U64, runs: Table) -> Int:
    """The first of some sorted rows of positive weight that another row of the runs begins like; −1 if there is none.

    The runs have these rows, too. Without weights, all are one.
    """
    at = np.zeros(runs.shape[0], np.int64)
    for j in range(words.shape[1]):
        if weights.size and weights[j] <= 0:
            continue
        total = 0
        for r in range(runs.shape[0]):
            address = runs[r, WORDS]
            rows = runs[r, ROWS]
            at[r] = _find(address, rows, at[r], words, j, width, mask)
            i = at[r]
            while i < rows and _compare(address, rows, i, words, j, width, mask) == 0:
                total += load_weight(runs[r, WEIGHTS], i)
                i += 1
        if total > 1:
            return j
    return -1
