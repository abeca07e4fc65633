"""From which iteration on a recursion admits a value: least or greatest values come long before all others.

Each value has a rank. Rows with the value are admitted from iteration rank · 2¹⁷ on. Integers near zero have ranks of
their own; those further away share a rank if their first seven binary digits agree, as in floating-point numbers.
Floats do so everywhere, except that those below 2⁻²⁸ share one rank, and those above 2³⁰ another. So a recursion is at
rest with the values of one rank before it reads those of the next, as long as this takes at most 2¹⁷ iterations. There
are few ranks, so an iteration for each costs little.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.types import Int, Ints

ITERATION_BITS = 17
_DIGITS = 6
# The ranks of all values that are not negative: of lengths up to one digit more each its own, then 2⁶ for each length.
_RANKS = (1 << (_DIGITS + 1)) + ((62 - _DIGITS) << _DIGITS)
# Of floats of 64 and of 32 bits, how many of these come after the exponent, and the exponent that stands for 2⁻²⁸.
_DOUBLE, _SINGLE = (52, 1023 - 28), (23, 127 - 28)
# In what order values are admitted: the least or the greatest first, of integers, of floats, of floats of 32 bits.
LEAST, DOUBLES, SINGLES = 1, 2, 4


@compiled
def _rank_of_float(size: Int, bits: Int, first: Int) -> Int:
    """Return the rank of a nonnegative float whose mantissa has `bits` bits after the exponent."""
    return min(max((size >> (bits - _DIGITS)) - (first << _DIGITS), 0), _RANKS - 1)


@compiled
def _rank_of_integer(size: Int) -> Int:
    """Return the rank of a nonnegative integer."""
    shift = np.int64(0)
    while size >> shift >= 1 << (_DIGITS + 1):
        shift += 1
    return (shift << _DIGITS) + (size >> shift)


@compiled
def admitted(value: Int, order: Int) -> Int:
    """Return the iteration from which a value is admitted. `order` is LEAST or not; floats are DOUBLES or SINGLES."""
    ahead = value if order & LEAST else ~value
    size = ahead if ahead >= 0 else ~ahead
    if order & DOUBLES:
        rank = _rank_of_float(size, _DOUBLE[0], _DOUBLE[1])
    elif order & SINGLES:
        rank = _rank_of_float(size, _SINGLE[0], _SINGLE[1])
    else:
        rank = _rank_of_integer(size)
    return (_RANKS + (rank if ahead >= 0 else ~rank)) << ITERATION_BITS


@compiled
def depth_of(now: Int, last: Int, depth: Int) -> Int:
    """Return how many consecutive iterations have changes if iteration `last` has that depth; gaps restart it."""
    return depth if now == last else depth + 1 if now == last + 1 else np.int64(1)


@kernel
def admissions(values: Ints, order: Int) -> Ints:
    """Return the iterations from which values are admitted, see `admitted`."""
    result = np.empty(values.size, np.int64)
    for i in range(values.size):
        result[i] = admitted(values[i], order)
    return result
