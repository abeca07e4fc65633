"""Functions of sums of powers and products of floats: variances, correlations, regressions.

The sums are exact, so a deleted row leaves no trace. A result is rounded once, or twice where it is a
square root. A function in `circuit.accumulators` is a formula over integers, which every engine uses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.circuit.accumulators.exact import POINT, as_integer, quotient
from deltic.values.types import Column, Type

Sums = Sequence[int | None]
"""Sums of products of floats; a product of k factors is in units of 2⁻¹⁰⁸⁰ᵏ; None where a term is not finite."""


class Moments(Accumulator):
    """A function of the number of rows and the sums of some products; a row counts where no column is NULL."""

    keeps = "totals, which are exact"
    columns: ClassVar[int] = 1
    fewer: ClassVar[int] = 0
    """The result is NULL for no more rows than these: of a sample, one."""
    products: ClassVar[tuple[tuple[int, ...], ...]]
    """The products that are summed, each as the positions of its factors; a position may repeat."""

    def takes(self, types: Sequence[Type]) -> bool:
        return list(types) == [Type.FLOAT64] * self.columns

    def is_partial(self, sources: Sequence[Column]) -> bool:
        return True

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        rows = [(value if isinstance(value, tuple) else (value,), weight) for value, weight in totals.items()]
        return self.of(sum(totals.values()), [_sum(rows, product) for product in self.products])

    def of(self, count: int, sums: Sums) -> float | None:
        """The result for `count` rows, one or more, with these sums; None for NULL."""
        if count <= self.fewer:
            return None
        known = [term for term in sums if term is not None]
        return self.formula(count, *known) if len(known) == len(sums) else math.nan

    @abstractmethod
    def formula(self, count: int, *sums: int) -> float | None:
        """The result for sums whose terms are all finite."""


def _sum(rows: Sequence[tuple[tuple[float, ...], int]], product: Sequence[int]) -> int | None:
    """The weighted sum of one product; None if the weights of its non-finite terms do not cancel."""
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
    """The correlation from n²-fold covariances where the floating-point divisor overflows or is zero, as in Spark.

    NaN, or 0 where only the divisor is infinite; None where the divisor is finite.
    """
    divisor = scaled(xx, count, 2) * scaled(yy, count, 2)
    return scaled(xy, count, 2) / divisor if math.isinf(divisor) else None


def root(a: int, b: int) -> float:
    """√(a² / b), with the sign of a."""
    result = math.sqrt(quotient(a * a, b))
    return result if a >= 0 else -result


class Covariance(Moments):
    """The sum of the products of deviations from the means, divided by the count less `fewer`; NULL where that is zero.

    Of one column it is the variance.
    """

    def formula(self, count: int, *sums: int) -> float:
        return scaled(central(count, sums[0], sums[-2], sums[-1]), count * (count - self.fewer), 2)


@accumulator
class CovarPop(Covariance):
    """The covariance of the population: the divisor is the number of rows."""

    name = "covar_pop"
    columns = 2
    products = ((0,), (1,), (0, 1))


@accumulator
class CovarSamp(CovarPop):
    """The covariance of a sample: the divisor is the number of rows less one; NULL for one row."""

    name = "covar_samp"
    fewer = 1


@accumulator
class Corr(Moments):
    """Pearson's correlation, as the root of its exact square; NULL where one of the columns is constant."""

    name = "corr"
    columns = 2
    products = ((0,), (1,), (0, 0), (1, 1), (0, 1))

    def of(self, count: int, sums: Sums) -> float | None:
        x, y, xx, yy, _ = sums
        pairs = ((x, xx), (y, yy))
        if any(z is not None and zz is not None and not central(count, z, z, zz) for z, zz in pairs):
            return None
        return super().of(count, sums)

    def formula(self, count: int, *sums: int) -> float | None:
        x, y, xx, yy, xy = sums
        first, second, both = central(count, x, x, xx), central(count, y, y, yy), central(count, x, y, xy)
        beyond = correlation_beyond(count, both, first, second)
        return root(both, first * second) if beyond is None else beyond


@accumulator
class VarPop(Covariance):
    """The mean of the squared deviations from the mean."""

    name = "var_pop"
    products = ((0,), (0, 0))


@accumulator
class VarSamp(VarPop):
    """The sum of the squared deviations from the mean, divided by the count less one; NULL for one value."""

    name = "var_samp"
    fewer = 1


@accumulator
class StddevPop(VarPop):
    """The square root of `var_pop`."""

    name = "stddev_pop"

    def formula(self, count: int, *sums: int) -> float:
        return math.sqrt(super().formula(count, *sums))


@accumulator
class StddevSamp(StddevPop):
    """The square root of `var_samp`."""

    name = "stddev_samp"
    fewer = 1


class _Shape(Moments):
    """A ratio of central moments."""

    def formula(self, count: int, *sums: int) -> float | None:
        second = central(count, sums[0], sums[0], sums[1])
        if second and math.isinf(scaled(second, count, 2)):
            return math.nan  # as in Spark, whose sums are floats
        return self.ratio(count, sums, second) if second else None

    @abstractmethod
    def ratio(self, count: int, sums: Sequence[int], second: int) -> float:
        """The result for these sums; `second` is n² times the variance, and not zero."""


@accumulator
class Skewness(_Shape):
    """m₃ / m₂^(3/2), with the central moments mₖ = Σ(x − mean)ᵏ / n."""

    name = "skewness"
    products = ((0,), (0, 0), (0, 0, 0))

    def ratio(self, count: int, sums: Sequence[int], second: int) -> float:
        x, xx, xxx = sums
        third = count**2 * xxx - 3 * count * x * xx + 2 * x**3
        return root(third, second**3)


@accumulator
class Kurtosis(_Shape):
    """m₄ / m₂² − 3."""

    name = "kurtosis"
    products = ((0,), (0, 0), (0, 0, 0), (0, 0, 0, 0))

    def ratio(self, count: int, sums: Sequence[int], second: int) -> float:
        x, xx, xxx, xxxx = sums
        fourth = count**3 * xxxx - 4 * count**2 * x * xxx + 6 * count * x**2 * xx - 3 * x**4
        return float(Fraction(fourth, second**2) - 3)


class _Regression(Moments):
    """A function of two columns."""

    columns = 2


@accumulator
class Slope(_Regression):
    """The slope; NULL where x is constant."""

    name = "regr_slope"
    products = ((0,), (1,), (1, 1), (0, 1))

    def formula(self, count: int, *sums: int) -> float | None:
        y, x, xx, xy = sums
        varies, both = central(count, x, x, xx), central(count, x, y, xy)
        if not varies:
            return None
        divisor = scaled(varies, count, 2)
        return quotient(both, varies) if math.isfinite(divisor) else scaled(both, count, 2) / divisor


@accumulator
class Intercept(_Regression):
    """The value at x = 0; NULL where x is constant."""

    name = "regr_intercept"
    products = ((0,), (1,), (1, 1), (0, 1))

    def formula(self, count: int, *sums: int) -> float | None:
        y, x, xx, xy = sums
        varies = central(count, x, x, xx)
        return scaled(y * varies - x * central(count, x, y, xy), count * varies, 1) if varies else None


@accumulator
class Fit(_Regression):
    """The square of the correlation; NULL where x is constant, 1 where only y is constant."""

    name = "regr_r2"
    products = ((0,), (1,), (0, 0), (1, 1), (0, 1))

    def formula(self, count: int, *sums: int) -> float | None:
        y, x, yy, xx, xy = sums
        first, second = central(count, x, x, xx), central(count, y, y, yy)
        if not first:
            return None
        if not second:
            return 1.0
        both = central(count, x, y, xy)
        beyond = correlation_beyond(count, both, first, second)
        return quotient(both**2, first * second) if beyond is None else beyond**2


class _Mean(_Regression):
    """The mean of one column over the rows in which neither is NULL."""

    def formula(self, count: int, *sums: int) -> float | None:
        return scaled(sums[0], count, 1)


@accumulator
class MeanOfX(_Mean):
    """The mean of x."""

    name = "regr_avgx"
    products = ((1,),)


@accumulator
class MeanOfY(_Mean):
    """The mean of y."""

    name = "regr_avgy"
    products = ((0,),)


class _Squares(_Regression):
    """The sum of the products of the deviations of two columns from their means."""

    def formula(self, count: int, *sums: int) -> float | None:
        return scaled(central(count, *sums), count, 2)


@accumulator
class SquaresOfX(_Squares):
    """The sum of the squared deviations of x."""

    name = "regr_sxx"
    products = ((1,), (1,), (1, 1))


@accumulator
class SquaresOfY(_Squares):
    """The sum of the squared deviations of y."""

    name = "regr_syy"
    products = ((0,), (0,), (0, 0))


@accumulator
class Products(_Squares):
    """The sum of the products of the deviations of x and y."""

    name = "regr_sxy"
    products = ((1,), (0,), (0, 1))
