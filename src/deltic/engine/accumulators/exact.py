"""Exact sums of floats: numbers are split into digits that are summed without rounding, and read as one rounded float.

A number is Σ dᵢ · 2^(24·i − 1080) with digits below 2²⁴; 88 digits cover all floats. Sums of digits are linear: they
do not depend on the order, and changes can be undone. A digit's sum fits into 64 bits as long as the weights of a
group sum to less than 2³⁹.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.accumulators.exact import POINT, quotient
from deltic.engine.accumulators.slots import ROWS, Columns, Linear, Result, Slots, Totals
from deltic.engine.operators import numbers
from deltic.engine.storage.columns import Column
from deltic.values.types import Type

Digits = npt.NDArray[np.int64]
Natural = np.ndarray[Any, Any]

WIDTH = 24
LIMBS = 88
_NAN, _UP, _DOWN = LIMBS, LIMBS + 1, LIMBS + 2
SLOTS = LIMBS + 3

_MASK = np.uint64((1 << WIDTH) - 1)
_MANTISSA = np.uint64((1 << 52) - 1)


def digits(values: Natural, type_: Type) -> tuple[Digits, Digits]:
    """Return the digits of n numbers: positions int64[4, n], with special ones for NaN and infinities, and values."""
    if type_.is_float:
        return digits_of_floats(np.ascontiguousarray(values, np.float64))
    values = values.astype(np.int64 if type_.signed else np.uint64, copy=False)
    negative = values < 0
    magnitude = np.where(negative, np.zeros_like(values) - values, values).view(np.uint64)
    first = np.full(len(values), POINT // WIDTH, np.int64)
    return _cut(magnitude, np.zeros(len(values), np.uint64), first, negative)


DIGITS = Linear(SLOTS, lambda values, types: [digits(values[0], types[0])])


def rounded_by(slots: Slots, columns: Columns, type_: Type, divisors: Callable[[Totals], Digits]) -> Result:
    """Return the exact sum, divided by each group's divisor, as the nearest float of the type."""
    slot = slots.sum(columns, DIGITS)

    def result(totals: Totals) -> Column:
        there = totals[:, ROWS] > 0
        found = np.zeros(len(totals), np.float64)
        found[there] = rounded(totals[there, slot : slot + SLOTS], divisors(totals)[there])
        return numbers.stored(found, type_, slots.interner), None

    return Result(result)


def rounded(sums: Digits, divisors: Digits) -> npt.NDArray[np.float64]:
    """Return the floats nearest to the numbers with the digit sums int64[n, SLOTS], each divided by its divisor."""
    result = np.zeros(len(sums), np.float64)
    for row, (total, divisor) in enumerate(zip(integers(sums[:, :LIMBS]), divisors.tolist(), strict=True)):
        if total and divisor:
            result[row] = quotient(total, divisor << POINT)
    up = (sums[:, _UP] > 0) | (sums[:, _DOWN] < 0)
    down = (sums[:, _UP] < 0) | (sums[:, _DOWN] > 0)
    result[up], result[down] = np.inf, -np.inf
    result[(up & down) | (sums[:, _NAN] != 0)] = np.nan
    return result


def integers(sums: Digits) -> list[int]:
    """Return the integers with the digit sums int64[n, limbs]."""
    totals = [0] * len(sums)
    for row, limb in zip(*(part.tolist() for part in np.nonzero(sums)), strict=True):
        totals[row] += int(sums[row, limb]) << (WIDTH * limb)
    return totals


def digits_of_floats(values: npt.NDArray[np.float64]) -> tuple[Digits, Digits]:
    """Return the `digits` of floats. Digits beyond the last position are zeros at it."""
    bits = values.view(np.uint64)
    exponent = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.int64)
    normal = exponent > 0
    mantissa = (bits & _MANTISSA) | (normal.astype(np.uint64) << np.uint64(52))
    place = np.maximum(exponent, 1) - 1075 + POINT
    shift = (place % WIDTH).astype(np.uint64)
    high = np.where(shift > 0, mantissa >> (np.uint64(64) - np.maximum(shift, np.uint64(1))), np.uint64(0))
    positions, result = _cut(mantissa << shift, high, place // WIDTH, np.signbit(values))
    special = exponent == 0x7FF
    if special.any():
        result[:, special] = np.array([[1], [0], [0], [0]])
        unbounded = np.where(values[special] > 0, _UP, _DOWN)
        positions[:, special] = np.where(np.isnan(values[special]), _NAN, unbounded)
    return positions, result


def _cut(
    low: npt.NDArray[np.uint64], high: npt.NDArray[np.uint64], first: Digits, negative: Any
) -> tuple[Digits, Digits]:
    """Return the four digits, from position `first` on, of the numbers high · 2⁶⁴ + low below 2⁷⁶."""
    width = np.uint64(WIDTH)
    parts = [
        low & _MASK,
        (low >> width) & _MASK,
        ((low >> np.uint64(48)) | (high << np.uint64(16))) & _MASK,
        high >> np.uint64(8),
    ]
    result = np.stack(parts).view(np.int64)
    result[:, negative] = -result[:, negative]
    positions = np.minimum(first + np.arange(4, dtype=np.int64).reshape(4, 1), LIMBS - 1)
    return positions, result
