"""Linear regression by least squares over points (y, x): y = slope · x + intercept. The first column is y."""

from __future__ import annotations

import math

from deltic.circuit.accumulators.accumulator import accumulator
from deltic.circuit.accumulators.exact import quotient
from deltic.circuit.accumulators.moments import Moments, central, correlation_beyond, scaled


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
