"""Functions of sums of powers and products of floats: variances, correlations, regressions.

The sums are exact, so a deleted row leaves no trace. A result is rounded once, or twice where it is a
square root. A function in `circuit.accumulators` is a formula over integers, which every engine uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, register
from deltic.circuit.accumulators.exact import POINT, as_integer, quotient
from deltic.values.types import Column, Type

Sums = Sequence[int | None]
"""Sums of products of floats; a product of k factors is in units of 2⁻¹⁰⁸⁰ᵏ; None where a term is not finite."""
Products = Sequence[tuple[int, ...]]
Formula = Callable[..., float | None]


class Moments(Accumulator):
    """A function of the number of rows and the sums of some products; a row counts where no column is NULL.

    A product has the positions of its factors, which may repeat. The `formula` has the result for a number of rows and
    sums whose terms are all finite; for no more rows than `fewer` it is NULL: of a sample, for one.
    """

    keeps = "totals, which are exact"

    def __init__(self, name: str, columns: int, products: Products, formula: Formula, fewer: int = 0) -> None:
        self.name, self.columns, self.products = name, columns, products
        self._formula, self._fewer = formula, fewer

    def takes(self, types: Sequence[Type]) -> bool:
        return list(types) == [Type.FLOAT64] * self.columns

    def is_partial(self, sources: Sequence[Column]) -> bool:
        return True

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        rows = [(value if isinstance(value, tuple) else (value,), weight) for value, weight in totals.items()]
        return self.of(sum(totals.values()), [_sum(rows, product) for product in self.products])

    def of(self, count: int, sums: Sums) -> float | None:
        """Return the result for `count` rows, one or more, with these sums; None for NULL."""
        if count <= self._fewer:
            return None
        known = [term for term in sums if term is not None]
        return self._formula(count, *known) if len(known) == len(sums) else math.nan


class Correlation(Moments):
    """Moments that are NULL where one of the columns is constant, whatever the other one has."""

    def of(self, count: int, sums: Sums) -> float | None:
        x, y, xx, yy, _ = sums
        pairs = ((x, xx), (y, yy))
        if any(z is not None and zz is not None and not _spread(count, z, zz) for z, zz in pairs):
            return None
        return super().of(count, sums)


def _sum(rows: Sequence[tuple[tuple[float, ...], int]], product: Sequence[int]) -> int | None:
    """Return the weighted sum of one product; None if the weights of its non-finite terms do not cancel."""
    total = strange = 0
    for values, weight in rows:
        if all(math.isfinite(values[i]) for i in product):
            total += weight * math.prod(as_integer(values[i]) for i in product)
        else:
            strange += weight
    return None if strange else total


def scaled(a: int, b: int, degree: int) -> float:
    """a / b as a float, where a is in units of 2⁻¹⁰⁸⁰ᵏ, k = `degree`, and b is a plain integer."""
    return quotient(a, b << (POINT * degree))


def central(count: int, x: int, y: int, xy: int) -> int:
    """n² times the covariance: n·Σxy − Σx·Σy."""
    return count * xy - x * y


def correlation_beyond(count: int, xy: int, xx: int, yy: int) -> float | None:
    """Return the correlation from n²-fold covariances where the floating-point divisor overflows, as in Spark.

    NaN, or 0 where only the divisor is infinite; None where the divisor is finite. Where the exact covariance is 0,
    Spark has 0 or NaN, by the order of rows.
    """
    divisor = scaled(xx, count, 2) * scaled(yy, count, 2)
    return scaled(xy, count, 2) / divisor if math.isinf(divisor) else None


def _spread(count: int, x: int, xx: int) -> float:
    """Return n times the variance; 0 where it is too small for a float, which is a constant column to Spark."""
    return scaled(central(count, x, x, xx), count, 2)


def root(a: int, b: int) -> float:
    """√(a² / b), with the sign of a."""
    result = math.sqrt(quotient(a * a, b))
    return result if a >= 0 else -result


def _covariance(fewer: int, count: int, *sums: int) -> float:
    """Return the sum of the products of deviations from the means, divided by the count less `fewer`."""
    return scaled(central(count, sums[0], sums[-2], sums[-1]), count * (count - fewer), 2)


def _deviation(fewer: int, count: int, x: int, xx: int) -> float:
    """Return the square root of the variance."""
    return math.sqrt(_covariance(fewer, count, x, xx))


def _correlation(count: int, x: int, y: int, xx: int, yy: int, xy: int) -> float:
    """Pearson's correlation, as the root of its exact square."""
    first, second, both = central(count, x, x, xx), central(count, y, y, yy), central(count, x, y, xy)
    beyond = correlation_beyond(count, both, first, second)
    return root(both, first * second) if beyond is None else beyond


def _shape(ratio: Callable[..., float], count: int, x: int, xx: int, *others: int) -> float | None:
    """Return a ratio of central moments; NULL where the variance is zero."""
    second = central(count, x, x, xx)
    if second and math.isinf(scaled(second, count, 2)):
        return math.nan  # as in Spark, whose sums are floats
    return ratio(count, second, x, xx, *others) if second else None


def _skewness(count: int, second: int, x: int, xx: int, xxx: int) -> float:
    """m₃ / m₂^(3/2), with the central moments mₖ = Σ(x − mean)ᵏ / n; `second` is n² m₂."""
    return root(count**2 * xxx - 3 * count * x * xx + 2 * x**3, second**3)


def _kurtosis(count: int, second: int, x: int, xx: int, xxx: int, xxxx: int) -> float:
    """m₄ / m₂² − 3."""
    fourth = count**3 * xxxx - 4 * count**2 * x * xxx + 6 * count * x**2 * xx - 3 * x**4
    return float(Fraction(fourth, second**2) - 3)


def _slope(count: int, y: int, x: int, xx: int, xy: int) -> float | None:
    """Return the slope of a regression; NULL where x is constant."""
    varies, both, divisor = central(count, x, x, xx), central(count, x, y, xy), _spread(count, x, xx)
    if not divisor:
        return None
    return quotient(both, varies) if math.isfinite(divisor) else scaled(both, count, 2) / divisor


def _intercept(count: int, y: int, x: int, xx: int, xy: int) -> float | None:
    """Return the value at x = 0; NULL where x is constant."""
    if not _spread(count, x, xx):
        return None
    varies = central(count, x, x, xx)
    return scaled(y * varies - x * central(count, x, y, xy), count * varies, 1)


def _fit(count: int, y: int, x: int, yy: int, xx: int, xy: int) -> float | None:
    """Return the square of the correlation; NULL where x is constant, 1 where only y is constant."""
    first, second = central(count, x, x, xx), central(count, y, y, yy)
    if not _spread(count, x, xx):
        return None
    if not _spread(count, y, yy):
        return 1.0
    both = central(count, x, y, xy)
    beyond = correlation_beyond(count, both, first, second)
    return quotient(both**2, first * second) if beyond is None else beyond**2


def _mean(count: int, x: int) -> float:
    """Return the mean of one column over the rows in which neither is NULL."""
    return scaled(x, count, 1)


def _products(count: int, x: int, y: int, xy: int) -> float:
    """Return the sum of the products of the deviations of two columns from their means."""
    return scaled(central(count, x, y, xy), count, 2)


_POWERS = ((0,), (0, 0), (0, 0, 0), (0, 0, 0, 0))
_PAIR = ((0,), (1,), (0, 1))
_LINE = ((0,), (1,), (1, 1), (0, 1))
_BOTH = ((0,), (1,), (0, 0), (1, 1), (0, 1))
register(
    Moments("covar_pop", 2, _PAIR, partial(_covariance, 0)),
    Moments("covar_samp", 2, _PAIR, partial(_covariance, 1), fewer=1),
    Correlation("corr", 2, _BOTH, _correlation),
    Moments("var_pop", 1, _POWERS[:2], partial(_covariance, 0)),
    Moments("var_samp", 1, _POWERS[:2], partial(_covariance, 1), fewer=1),
    Moments("stddev_pop", 1, _POWERS[:2], partial(_deviation, 0)),
    Moments("stddev_samp", 1, _POWERS[:2], partial(_deviation, 1), fewer=1),
    Moments("skewness", 1, _POWERS[:3], partial(_shape, _skewness)),
    Moments("kurtosis", 1, _POWERS, partial(_shape, _kurtosis)),
    # Of y and x, in this order.
    Moments("regr_slope", 2, _LINE, _slope),
    Moments("regr_intercept", 2, _LINE, _intercept),
    Moments("regr_r2", 2, _BOTH, _fit),
    Moments("regr_avgx", 2, ((1,),), _mean),
    Moments("regr_avgy", 2, ((0,),), _mean),
    Moments("regr_sxx", 2, ((1,), (1,), (1, 1)), _products),
    Moments("regr_syy", 2, ((0,), (0,), (0, 0)), _products),
    Moments("regr_sxy", 2, ((1,), (0,), (0, 1)), _products),
)
