"""The totals of groups: what changed rows add to them, and the entries that store them."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel, numbered
from deltic.engine.kernels.memory import load_i64, load_u8
from deltic.engine.kernels.types import Int, Ints, Rows, Table, Weights, Words2

ENTER = numbered("KIND SLOT FIRST COUNT LIMIT")
"""A reading: what its rows add to the slots from SLOT on; its columns, COUNT of them from FIRST on; and the value from
which on the values of its column stand for others, so that they cannot be added here, or 0.
"""
OF = numbered("COLUMN BASE NULLABLE")
"""A column of a reading. Rows in which a nullable one is NULL, with offset 0, add nothing."""
ONE, NUMBER, HALVES, UNSIGNED_HALVES, LIMBS = range(1, 6)
"""What is added: one for each row; a number; its lower and its upper half; or its digits of 24 bits."""
_SLOTS = 6
_LOW, _DIGIT, _WIDTH = (1 << 32) - 1, (1 << 24) - 1, 24
# More than any rounding error, less than the distance of numbers that are equal modulo 2^64.
_APART = float(1 << 62)
# Sums over fewer rows than this always fit into their slots.
_MANY = 1 << 31


@compiled
def _is_there(columns: Rows, i: Int, read: Table) -> bool:
    """Return whether row i has no NULL in the columns of a reading."""
    for c in range(read.shape[0]):
        if read[c, OF.NULLABLE] and columns[read[c, OF.COLUMN], i] == 0:
            return False
    return True


@compiled
def _value(columns: Rows, i: Int, read: Table) -> Int:
    return np.int64(columns[read[0, OF.COLUMN], i]) + read[0, OF.BASE]


@compiled
def _is_left(columns: Rows, limit: Int, read: Table) -> bool:
    """Return whether some value of a reading stands for another one."""
    for i in range(columns.shape[1]):
        if _is_there(columns, i, read) and _value(columns, i, read) >= limit:
            return True
    return False


@compiled
def _amounts(kind: Int, columns: Rows, i: Int, read: Table, amounts: Ints) -> Int:
    """Return what row i adds to the slots of a reading, and to how many."""
    if kind == ONE:
        amounts[0] = 1
        return 1
    rest = _value(columns, i, read)
    if kind == HALVES:
        amounts[0], amounts[1] = rest & _LOW, rest >> 32
        return 2
    if kind == UNSIGNED_HALVES:
        amounts[0], amounts[1] = rest & _LOW, (rest >> 32) & _LOW
        return 2
    n = 0
    while kind == LIMBS and (rest < -_DIGIT or rest > _DIGIT):
        amounts[n] = rest & _DIGIT
        rest >>= _WIDTH
        n += 1
    amounts[n] = rest
    return n + 1


@compiled
def _are_many(weights: Weights, old: Table) -> bool:
    """Return whether sums over so many rows may leave 64 bits."""
    for i in range(weights.size):
        if weights[i] >= _MANY or weights[i] <= -_MANY:
            return True
    for g in range(old.shape[0]):
        if old[g, 0] >= _MANY:
            return True
    return False


@kernel
def add_sums(
    columns: Rows,
    weights: Weights,
    starts: Ints,
    groups: Ints,
    readings: Table,
    reads: Table,
    old: Table,
    change: Table,
) -> tuple[bool, bool, Ints]:
    """Add what the readings of rows, sorted by group, add to the totals of their groups, which were `old`.

    Returns whether the rows are many, whether no total leaves 64 bits then, by its distance from the same one in
    floating point, and which readings are left to others.
    """
    fits, are_many = True, _are_many(weights, old)
    left = np.zeros(readings.shape[0], np.int64)
    amounts, sums, about = np.zeros(_SLOTS, np.int64), np.zeros(_SLOTS, np.int64), np.zeros(_SLOTS, np.float64)
    for n in range(readings.shape[0]):
        kind, slot, first = readings[n, ENTER.KIND], readings[n, ENTER.SLOT], readings[n, ENTER.FIRST]
        read = reads[first : first + readings[n, ENTER.COUNT]]
        if readings[n, ENTER.LIMIT] and _is_left(columns, readings[n, ENTER.LIMIT], read):
            left[n] = 1
            continue
        for g in range(starts.size):
            end = starts[g + 1] if g + 1 < starts.size else weights.size
            most = 0
            for i in range(starts[g], end):
                if _is_there(columns, i, read):
                    width = _amounts(kind, columns, i, read, amounts)
                    for s in range(width):
                        if s == most:
                            sums[s], about[s] = 0, 0.0
                            most += 1
                        sums[s] += amounts[s] * weights[i]
                        about[s] += np.float64(amounts[s]) * np.float64(weights[i])
            for s in range(most):
                before = old[groups[g], slot + s]
                after = np.float64(before + sums[s])
                if are_many and abs(about[s] + np.float64(before) - after) > _APART:
                    fits = False
                change[groups[g], slot + s] += sums[s]
    return are_many, fits, left


@compiled
def _differs(columns: Table, i: Int, j: Int) -> bool:
    """Return whether rows i and j differ in a column, given by its address and that of bytes that say where it is
    NULL.
    """
    for c in range(columns.shape[0]):
        was_null = columns[c, 1] != 0 and load_u8(columns[c, 1], i) != 0
        is_null = columns[c, 1] != 0 and load_u8(columns[c, 1], j) != 0
        if was_null != is_null or (not is_null and load_i64(columns[c, 0], i) != load_i64(columns[c, 0], j)):
            return True
    return False


@kernel
def moved_groups(totals: Table, results: Table) -> tuple[Ints, Weights]:
    """Return the groups whose rows go, from the first half of totals and their results, and come, in the second; with
    signs.

    Of each result its address, and that of the bytes that say where it is NULL, or 0.
    """
    half, n = totals.shape[0] // 2, 0
    at, signs = np.empty(2 * half, np.int64), np.empty(2 * half, np.int64)
    for g in range(half):
        was, remains = totals[g, 0] > 0, totals[half + g, 0] > 0
        if was != remains or (was and _differs(results, g, half + g)):
            if was:
                at[n], signs[n] = g, -1
                n += 1
            if remains:
                at[n], signs[n] = half + g, 1
                n += 1
    return at[:n].copy(), signs[:n].copy()


@kernel
def entries_of(rows: Rows, change: Table) -> tuple[Words2, Weights]:
    """Return the entries (key, slot) of what is not zero of the changes int64[n, slots] of the rows (key, 0),
    sorted.
    """
    count = 0
    for g in range(change.shape[0]):
        for s in range(change.shape[1]):
            count += change[g, s] != 0
    words, weights = np.empty((rows.shape[0], count), np.uint64), np.empty(count, np.int64)
    n = 0
    for g in range(change.shape[0]):
        for s in range(change.shape[1]):
            if change[g, s]:
                for w in range(rows.shape[0]):
                    words[w, n] = rows[w, g]
                words[rows.shape[0] - 1, n] |= np.uint64(s)
                weights[n] = change[g, s]
                n += 1
    return words, weights
