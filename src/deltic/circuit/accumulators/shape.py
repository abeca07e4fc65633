"""The shape of a distribution: skewness and kurtosis, NULL where all values are equal."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from deltic.circuit.accumulators.accumulator import accumulator
from deltic.circuit.accumulators.moments import Moments, central, root, scaled


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
