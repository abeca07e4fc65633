"""Results of aggregates from the totals of groups: all calls of an aggregate in one pass."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel, numbered
from deltic.engine.kernels.memory import store_i64, store_u8
from deltic.engine.kernels.types import Int, Ints, Table

READ = numbered("KIND SLOT COUNT NULLS LIMIT FACTOR")
"""A call: how its result is read, from the slots from SLOT on; the slot of the number of its values, or -1 if they need
not be counted; and that of a number which is 0 where the result is NULL, or -1. Decimals of LIMIT or more are left to
others; means have FACTOR times the scale of their values.
"""
LEFT, VALUE, HALVES, LIMBS, MEAN = range(5)
"""How: not here; one slot as it is; a sum of two halves; a sum of digits of 24 bits; or the mean of such a sum."""
_HALF, _LOW = 32, (1 << 32) - 1
_LIMBS, _WIDTH = 6, 24
# The magnitude from which on sums of digits may leave 64 bits.
_ROOM = float(1 << 61)


@compiled
def _decimal(read: Ints, totals: Ints) -> tuple[Int, bool]:
    """Return the sum or the mean of decimals, and whether it is small enough."""
    size, total = 0.0, np.int64(0)
    for i in range(_LIMBS - 1, -1, -1):
        digit = totals[read[READ.SLOT] + i]
        size = size * (1 << _WIDTH) + abs(np.float64(digit))
        total = (total << _WIDTH) + digit
    if size >= _ROOM:
        return total, False
    if read[READ.KIND] == MEAN:
        count = totals[read[READ.COUNT]]
        if (size * np.float64(read[READ.FACTOR]) + np.float64(count)) * 2 >= _ROOM:
            return total, False
        mean = (2 * abs(total) * read[READ.FACTOR] + count) // (2 * count)
        total = -mean if total < 0 else mean
    return total, abs(total) < read[READ.LIMIT]


@compiled
def _value(read: Ints, totals: Ints) -> tuple[Int, bool]:
    """Return the result of a call for a group, and whether it is one that is read here."""
    kind, slot, count = read[READ.KIND], read[READ.SLOT], read[READ.COUNT]
    if count >= 0 and totals[count] <= 0:
        return np.int64(0), True
    if kind == VALUE:
        return totals[slot], True
    if kind == HALVES:
        high = totals[slot + 1] + (totals[slot] >> _HALF)
        return (high << _HALF) | (totals[slot] & _LOW), bool(-(1 << (_HALF - 1)) <= high < 1 << (_HALF - 1))
    return _decimal(read, totals)


@kernel
def results_of(totals: Table, reads: Table, into: Table) -> Ints:
    """Write the results of calls for each group, and where they are NULL, to the addresses of their columns.

    Returns 1 for each call that is left to others, because it is not read here or some result is too large.
    """
    left = np.zeros(reads.shape[0], np.int64)
    for n in range(reads.shape[0]):
        read = reads[n]
        left[n] = read[READ.KIND] == LEFT
        for g in range(0 if left[n] else totals.shape[0]):
            value, is_here = _value(read, totals[g])
            if not is_here:
                left[n] = 1
                break
            store_i64(into[n, 0], g, value)
            if read[READ.NULLS] >= 0:
                store_u8(into[n, 1], g, np.uint8(totals[g, read[READ.NULLS]] <= 0))
    return left
