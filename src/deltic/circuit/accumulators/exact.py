"""Exact sums: they depend on no order of the values, nor on what was there before."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import reduce

from deltic.circuit.accumulators.accumulator import Totals
from deltic.values.numbers import EXACT

POINT = 1080
"""The bits behind the point of the whole numbers that stand for floats: all floats are whole multiples of 2⁻¹⁰⁸⁰."""


def rounded(totals: Totals, divisor: int) -> float:
    """The weighted sum, divided, as the nearest float; infinite where that is out of range, as IEEE 754 has it."""
    special = [value * weight for value, weight in totals.items() if not math.isfinite(value)]
    if special:
        return math.nan if math.isnan(sum(special)) else sum(special)
    exact = sum((Fraction(value) * weight for value, weight in totals.items()), Fraction())
    return quotient(exact.numerator, exact.denominator * divisor)


def decimal_sum(totals: Totals) -> Decimal:
    """The weighted sum of decimals."""
    return reduce(EXACT.add, (EXACT.multiply(value, weight) for value, weight in totals.items()), Decimal(0))


def quotient(a: int, b: int) -> float:
    """The float nearest to a / b; infinite where it is out of range."""
    try:
        return a / b
    except OverflowError:
        return math.inf if (a > 0) == (b > 0) else -math.inf


def as_integer(value: float) -> int:
    """A finite float as the whole number of 2⁻¹⁰⁸⁰ that it is."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator << POINT) // denominator
