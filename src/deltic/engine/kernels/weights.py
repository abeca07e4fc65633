"""Sums and products of weights, which saturate: a result that does not fit into 64 bits is `OVERFLOWED`, and so is all
that is computed from it.

A result is computed modulo 2^64 and as a float: if the two are far apart, it does not fit.
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
    """Return the sum of two weights."""
    total = a + b
    if a == OVERFLOWED or b == OVERFLOWED or abs(np.float64(a) + np.float64(b) - np.float64(total)) > _APART:
        return OVERFLOWED
    return total


@inlined
def multiplied(a: Int, b: Int) -> Int:
    """Return the product of two weights."""
    product = a * b
    if a == OVERFLOWED or b == OVERFLOWED or abs(np.float64(a) * np.float64(b) - np.float64(product)) > _APART:
        return OVERFLOWED
    return product


@inlined
def checked_sum(total: Int, shadow: float) -> Int:
    """Return a sum modulo 2^64 if it is near the sum in floats; no term may be `OVERFLOWED`."""
    return total if abs(shadow - np.float64(total)) <= _APART else OVERFLOWED
