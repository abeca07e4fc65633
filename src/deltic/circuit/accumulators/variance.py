"""Variances and standard deviations, of the population or of a sample; the deviation is the root of the variance."""

from __future__ import annotations

import math

from deltic.circuit.accumulators.accumulator import accumulator
from deltic.circuit.accumulators.covariance import Covariance


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
