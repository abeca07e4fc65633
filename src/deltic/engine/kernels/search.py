"""Searches sorted runs. A run's descriptor is a row of int64: [rows, words, times, weights], addresses or 0.

The addresses of times and weights are coded, see `kernels.narrow`.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, inlined, kernel
from deltic.engine.kernels.memory import load_u64
from deltic.engine.kernels.types import U64, Int, Ints, Times, Weights, Words2

ROWS, WORDS, TIMES, WEIGHTS = 0, 1, 2, 3
# Rows that a search forward compares before it leaps: one line of the cache.
NEAREST = 8


@kernel
def describe(words: Words2, times: Times, weights: Weights) -> Ints:
    """Return the descriptor of a run with these arrays, its greatest time, and its weight farthest from zero.

    That weight is 0 if all are one; the descriptor has no weights then.
    """
    descriptor = np.zeros(6, np.int64)
    descriptor[ROWS] = words.shape[1]
    descriptor[WORDS] = words.ctypes.data
    if times.size:
        descriptor[TIMES] = times.ctypes.data
        descriptor[4] = times.max()
    low, high = np.int64(1), np.int64(1)
    for weight in weights:
        low = min(low, weight)
        high = max(high, weight)
    if low < high:
        descriptor[WEIGHTS] = weights.ctypes.data
        descriptor[5] = max(high, -low)
    return descriptor


@inlined
def field(address: Int, i: Int, shift: U64, mask: U64) -> U64:
    """Return the value of a column: `mask` bits of word `i` above `shift`."""
    return (load_u64(address, i) >> shift) & mask


@compiled
def forward(address: Int, lo: Int, hi: Int, shift: U64, mask: U64, key: U64) -> Int:
    """Return the first i in [lo, hi) whose column is at least `key`, `hi` if none; fast near `lo`.

    The nearest rows are all compared, without branches that the processor would mispredict.
    """
    less = 0
    if lo + NEAREST > hi:
        for i in range(lo, hi):
            less += field(address, i, shift, mask) < key
        return lo + less
    for i in range(NEAREST):
        less += field(address, lo + i, shift, mask) < key
    if less < NEAREST:
        return lo + less
    lo += NEAREST
    step = NEAREST
    while lo + step < hi and field(address, lo + step, shift, mask) < key:
        lo += step + 1
        step <<= 1
    return bisect(address, lo, min(lo + step, hi), shift, mask, key)


@compiled
def bisect(address: Int, lo: Int, hi: Int, shift: U64, mask: U64, key: U64) -> Int:
    """Return the first i in [lo, hi) whose column is at least `key`, `hi` if none."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if field(address, middle, shift, mask) < key:
            lo = middle + 1
        else:
            hi = middle
    return lo


@compiled
def gallop(address: Int, lo: Int, hi: Int, start: Int, shift: U64, mask: U64, key: U64) -> Int:
    """Return the first i in [lo, hi) whose column is at least `key`, `hi` if none; fast near `start`."""
    if lo >= hi:
        return hi
    start = min(max(start, lo), hi - 1)
    if field(address, start, shift, mask) < key:
        return forward(address, start + 1, hi, shift, mask, key)
    step = 1
    hi = start
    while start - step >= lo and field(address, start - step, shift, mask) >= key:
        hi = start - step
        step <<= 1
    return bisect(address, max(lo, start - step + 1), hi, shift, mask, key)


@compiled
def compare_rows(address: Int, rows: Int, i: Int, words: Words2, j: Int) -> Int:
    """Return the sign of (row i of a run with `rows` rows) − (row j of the array `words`), over all words."""
    for w in range(words.shape[0]):
        a = load_u64(address + w * rows * 8, i)
        b = words[w, j]
        if a < b:
            return -1
        if a > b:
            return 1
    return 0


@inlined
def bisect_word(address: Int, lo: Int, hi: Int, word: U64) -> Int:
    """Return the first position of [lo, hi) at or after a word, in rows of one word; hi if there is none."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if load_u64(address, middle) < word:
            lo = middle + 1
        else:
            hi = middle
    return lo


@compiled
def _find_word(address: Int, rows: Int, start: Int, word: U64) -> Int:
    """Do the same as `find_row` for rows of one word."""
    if start >= rows or load_u64(address, start) >= word:
        return start
    lo = start + 1
    step = 1
    while start + step < rows and load_u64(address, start + step) < word:
        lo = start + step + 1
        step <<= 1
    return bisect_word(address, lo, min(start + step, rows), word)


@compiled
def find_row(address: Int, rows: Int, start: Int, words: Words2, j: Int) -> Int:
    """Return the first position in a run at or after row j of `words`, galloping from `start`, which must not be past
    it.
    """
    if words.shape[0] == 1:
        return _find_word(address, rows, start, words[0, j])
    step = 1
    lo = start
    hi = rows
    if lo < hi and compare_rows(address, rows, lo, words, j) < 0:
        lo += 1
        while start + step < hi and compare_rows(address, rows, start + step, words, j) < 0:
            lo = start + step + 1
            step <<= 1
        if start + step < hi:
            hi = start + step
    else:
        return lo
    while lo < hi:
        middle = (lo + hi) >> 1
        if compare_rows(address, rows, middle, words, j) < 0:
            lo = middle + 1
        else:
            hi = middle
    return lo
