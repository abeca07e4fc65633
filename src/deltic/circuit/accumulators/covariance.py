"""Covariances (of the population and of a sample) and the correlation of two columns."""

from __future__ import annotations

import math
from abc import abstractmethod

from deltic.circuit.accumulators.accumulator import accumulator
from deltic.circuit.accumulators.moments import Moments, Sums, central, correlation_beyond, root, scaled


class _Covariance(Moments):
    """The sum of the products of deviations from the means, divided by `divisor`; NULL where that is zero."""

    columns = 2
    products = ((0,), (1,), (0, 1))

    def of(self, count: int, sums: Sums) -> float | None:
        divisor = self.divisor(count)
        if not divisor:
            return None
        x, y, xy = sums
        if x is None or y is None or xy is None:
            return math.nan
        return scaled(central(count, x, y, xy), count * divisor, 2)

    @abstractmethod
    def divisor(self, count: int) -> int:
        """The number that the sum is divided by."""


@accumulator
class CovarPop(_Covariance):
    """The covariance of the population: the divisor is the number of rows."""

    name = "covar_pop"

    def divisor(self, count: int) -> int:
        return count


@accumulator
class CovarSamp(_Covariance):
    """The covariance of a sample: the divisor is the number of rows less one; NULL for one row."""

    name = "covar_samp"

    def divisor(self, count: int) -> int:
        return count - 1


@accumulator
class Corr(Moments):
    """Pearson's correlation, as the root of its exact square; NULL where one of the columns is constant."""

    name = "corr"
    columns = 2
    products = ((0,), (1,), (0, 0), (1, 1), (0, 1))

    def of(self, count: int, sums: Sums) -> float | None:
        x, y, xx, yy, xy = sums
        first = None if x is None or xx is None else central(count, x, x, xx)
        second = None if y is None or yy is None else central(count, y, y, yy)
        if first == 0 or second == 0:
            return None
        if x is None or y is None or xy is None or first is None or second is None:
            return math.nan
        both = central(count, x, y, xy)
        beyond = correlation_beyond(count, both, first, second)
        return root(both, first * second) if beyond is None else beyond
