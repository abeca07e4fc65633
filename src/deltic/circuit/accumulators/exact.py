"""Exact sums: they depend on no order of the values, nor on what was there before."""

from __future__ import annotations

import math
from fractions import Fraction

from deltic.circuit.accumulators.accumulator import Totals


def rounded(totals: Totals, divisor: int) -> float:
    """The weighted sum, divided, as the nearest float; infinite where that is out of range, as IEEE 754 has it."""
    special = [value * weight for value, weight in totals.items() if not math.isfinite(value)]
    if special:
        return math.nan if math.isnan(sum(special)) else sum(special)
    exact = sum((Fraction(value) * weight for value, weight in totals.items()), Fraction()) / divisor
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
