"""Covariances (of the population and of a sample) and the correlation of two columns."""

from __future__ import annotations

from deltic.circuit.accumulators.accumulator import accumulator
from deltic.circuit.accumulators.moments import Moments, Sums, central, correlation_beyond, root, scaled


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
