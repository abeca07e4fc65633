"""Functions of sums of powers and products of floats: variances, correlations, regressions.

The sums are exact, so a deleted row leaves no trace. A result is rounded once, or twice where it is a
square root. A function in `circuit.accumulators` is a formula over integers, which every engine uses.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals
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
