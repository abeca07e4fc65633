"""Variances and standard deviations, of the population or of a sample; the deviation is the root of the variance."""

from __future__ import annotations

import math
from abc import abstractmethod

from deltic.circuit.accumulators.accumulator import accumulator
from deltic.circuit.accumulators.moments import Moments, Sums, central, scaled


class _Variance(Moments):
    """The sum of the squared deviations from the mean, divided by `divisor`; NULL where that is zero."""

    products = ((0,), (0, 0))

    def of(self, count: int, sums: Sums) -> float | None:
        divisor = self.divisor(count)
        if not divisor:
            return None
        x, xx = sums
        return (
            math.nan if x is None or xx is None else self.rooted(scaled(central(count, x, x, xx), count * divisor, 2))
        )

    @abstractmethod
    def divisor(self, count: int) -> int:
        """The number that the sum is divided by."""

    def rooted(self, variance: float) -> float:
        """The result for this variance."""
        return variance


@accumulator
class VarPop(_Variance):
    """The mean of the squared deviations from the mean."""

    name = "var_pop"

    def divisor(self, count: int) -> int:
        return count


@accumulator
class VarSamp(_Variance):
    """The sum of the squared deviations from the mean, divided by the count less one; NULL for one value."""

    name = "var_samp"

    def divisor(self, count: int) -> int:
        return count - 1


@accumulator
class StddevPop(VarPop):
    """The square root of `var_pop`."""

    name = "stddev_pop"

    def rooted(self, variance: float) -> float:
        return math.sqrt(variance)


@accumulator
class StddevSamp(VarSamp):
    """The square root of `var_samp`."""

    name = "stddev_samp"

    def rooted(self, variance: float) -> float:
        return math.sqrt(variance)
