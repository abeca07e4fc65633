"""From which iteration on a value is admitted: the least values, or the greatest, long before all others.

Each value has a rank, and from the iteration rank · 2¹⁷ on rows with it are there. Values near zero have ranks of their
own, those further away share one with what agrees with them in six binary digits after the first, as floating-point
numbers do. So a recursion has come to rest with the values of one rank before it sees those of the next, as long as
that takes no more than 2¹⁷ iterations; and there are so few ranks that looking at each costs little.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.local.kernels.declaring import compiled, kernel
from deltic.engine.local.kernels.types import Int, Ints

ITERATION_BITS = 17
_DIGITS = 6
# The ranks of all values that are not negative: of lengths up to one digit more each its own, then 2⁶ for each length.
_RANKS = (1 << (_DIGITS + 1)) + ((62 - _DIGITS) << _DIGITS)


@compiled
def admitted(value: Int, least: Int) -> Int:
    """The iteration from which on a value is admitted, the least first if `least` is 1, else the greatest."""
    ahead = value if least == 1 else ~value
    size = ahead if ahead >= 0 else ~ahead
    shift = np.int64(0)
    while size >> shift >= 1 << (_DIGITS + 1):
        shift += 1
    rank = (shift << _DIGITS) + (size >> shift)
    return (_RANKS + (rank if ahead >= 0 else ~rank)) << ITERATION_BITS


@compiled
def depth_of(now: Int, last: Int, depth: Int) -> Int:
    """How many iterations in a row have changes, where iteration `last` is that deep; past a gap it begins anew."""
    return depth if now == last else depth + 1 if now == last + 1 else np.int64(1)


@kernel
def admissions(values: Ints, least: Int) -> Ints:
    """The iterations from which on values are admitted, see `admitted`."""
    found = np.empty(values.size, np.int64)
    for i in range(values.size):
        found[i] = admitted(values[i], least)
    return found
