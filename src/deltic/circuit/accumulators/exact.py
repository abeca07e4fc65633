"""Exact sums: the result does not depend on the order of the values, nor on values that were deleted."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import reduce

from deltic.circuit.accumulators.accumulator import Totals
from deltic.values.numbers import EXACT

POINT = 1080
"""The fraction bits of the fixed-point form: every float is a whole multiple of 2⁻¹⁰⁸⁰."""


def rounded(totals: Totals, divisor: int) -> float:
    """Return the weighted sum divided by `divisor`, as the nearest float.

    Infinite where that is out of range, as in IEEE 754.
    """
    special = [value * weight for value, weight in totals.items() if not math.isfinite(value)]
    if special:
        return math.nan if math.isnan(sum(special)) else sum(special)
    exact = sum((Fraction(value) * weight for value, weight in totals.items()), Fraction())
    return quotient(exact.numerator, exact.denominator * divisor)


def decimal_sum(totals: Totals) -> Decimal:
    """Return the weighted sum of decimals."""
    return reduce(EXACT.add, (EXACT.multiply(value, weight) for value, weight in totals.items()), Decimal(0))


def quotient(a: int, b: int) -> float:
    """Return the float nearest to a / b; infinite where it is out of range."""
    try:
        return a / b
    except OverflowError:
        return math.inf if (a > 0) == (b > 0) else -math.inf


def as_integer(value: float) -> int:
    """Return a finite float as a whole number of units of 2⁻¹⁰⁸⁰."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator << POINT) // denominator
