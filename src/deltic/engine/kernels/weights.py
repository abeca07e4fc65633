"""Sums and products of weights, which saturate: what does not fit into 64 bits is `OVERFLOWED`, as is what it enters.

A result is computed modulo 2^64, and beside it as a float: where the two are far apart the result does not fit.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import inlined
from deltic.engine.kernels.types import Int

OVERFLOWED = np.int64(-(1 << 63))
# Farther apart than rounding makes them, nearer than two numbers that are the same modulo 2^64.
_APART = float(1 << 62)


@inlined
def added(a: Int, b: Int) -> Int:
    """The sum of two weights."""
    total = a + b
    if a == OVERFLOWED or b == OVERFLOWED or abs(np.float64(a) + np.float64(b) - np.float64(total)) > _APART:
        return OVERFLOWED
    return total


@inlined
def multiplied(a: Int, b: Int) -> Int:
    """The product of two weights."""
    product = a * b
    if a == OVERFLOWED or b == OVERFLOWED or abs(np.float64(a) * np.float64(b) - np.float64(product)) > _APART:
        return OVERFLOWED
    return product


@inlined
def checked_sum(total: Int, shadow: float) -> Int:
    """A sum modulo 2^64, if it is about the one in floats; no term of it may be `OVERFLOWED`."""
    return total if abs(shadow - np.float64(total)) <= _APART else OVERFLOWED
