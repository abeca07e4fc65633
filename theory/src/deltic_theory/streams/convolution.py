"""The Cauchy product and the Z-transform: streams over a ring as formal power series in z⁻¹ [DBSP App. A]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol

from deltic_theory.groups import AbelianGroup, Integers, IntegersModulo, subtract, total
from deltic_theory.streams.fixpoints import fix
from deltic_theory.streams.operators import delay
from deltic_theory.streams.stream import SHOWN, Stream
from deltic_theory.variables import A

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class CommutativeRing(AbelianGroup[A], Protocol[A]):
    """An abelian group with a commutative, associative multiplication that distributes over addition, and a one."""

    @property
    def one(self) -> A:
        """The neutral element of `multiply`."""

    def multiply(self, left: A, right: A) -> A:
        """Return the product of two elements."""


@dataclass(frozen=True)
class IntegerRing(Integers):
    """The ring of the integers."""

    @property
    def one(self) -> int:
        return 1

    def multiply(self, left: int, right: int) -> int:
        return left * right


@dataclass(frozen=True)
class ModularRing(IntegersModulo):
    """The ring of the integers modulo n."""

    @property
    def one(self) -> int:
        return 1 % self.modulus

    def multiply(self, left: int, right: int) -> int:
        return left * right % self.modulus


INTEGER_RING = IntegerRing()


def convolve(ring: CommutativeRing[A], left: Stream[A], right: Stream[A]) -> Stream[A]:
    """Return the Cauchy product: (a * b)[t] = Σ a[i] · b[t − i] for i ≤ t [DBSP Def. A.2].

    >>> times = Stream(INTEGER_RING, lambda t: t)
    >>> convolve(INTEGER_RING, times, times)
    [0 0 1 4 10 …]
    """
    return Stream(ring, lambda t: total(ring, (ring.multiply(left[i], right[t - i]) for i in range(t + 1))))


@dataclass(frozen=True)
class PowerSeries(Generic[A]):
    """Σ s[t] z⁻ᵗ, the Z-transform of the stream s of its coefficients [DBSP Def. A.1].

    Series over a ring form a ring [DBSP Prop. A.3]; the product of series is the Cauchy product of streams.

    >>> PowerSeries(INTEGER_RING, Stream(INTEGER_RING, lambda t: t))
    0 + 1z⁻¹ + 2z⁻² + 3z⁻³ + 4z⁻⁴ + …
    >>> (one(INTEGER_RING) - z_inverse(INTEGER_RING)).inverse()
    1 + 1z⁻¹ + 1z⁻² + 1z⁻³ + 1z⁻⁴ + …
    """

    ring: CommutativeRing[A]
    coefficients: Stream[A]

    def __add__(self, other: PowerSeries[A]) -> PowerSeries[A]:
        return PowerSeries(self.ring, self.coefficients + other.coefficients)

    def __neg__(self) -> PowerSeries[A]:
        return PowerSeries(self.ring, -self.coefficients)

    def __sub__(self, other: PowerSeries[A]) -> PowerSeries[A]:
        return self + -other

    def __mul__(self, other: PowerSeries[A]) -> PowerSeries[A]:
        return PowerSeries(self.ring, convolve(self.ring, self.coefficients, other.coefficients))

    def inverse(self) -> PowerSeries[A]:
        """Return the series whose product with this one is 1; ValueError unless the constant term is 1.

        It is fix β. 1 − z⁻¹ a′ * β, where this series is 1 + z⁻¹ a′.
        """
        if self.coefficients[0] != self.ring.one:
            raise ValueError(f"the inverse is known for series that begin with 1, not for {self}")
        unit = one(self.ring).coefficients
        rest = Stream(self.ring, lambda t: subtract(self.ring, self.coefficients[t], unit[t]))
        return PowerSeries(self.ring, fix(lambda beta: unit - _strict_product(self.ring, rest, beta), self.ring))

    def __repr__(self) -> str:
        powers = ["", *(f"z⁻{str(t).translate(SUPERSCRIPTS)}" for t in range(1, SHOWN))]
        terms = (f"{a}{power}" for a, power in zip(self.coefficients.prefix(SHOWN), powers, strict=True))
        return " + ".join([*terms, "…"])


def _strict_product(ring: CommutativeRing[A], left: Stream[A], right: Stream[A]) -> Stream[A]:
    """left * right for a `left` that is zero at time 0, without a look at the present of `right`."""
    later = Stream(ring, lambda t: left[t + 1])
    return delay(convolve(ring, later, right))


def one(ring: CommutativeRing[A]) -> PowerSeries[A]:
    """Return the series 1 = z⁰."""
    return PowerSeries(ring, Stream.of(ring, [ring.one]))


def z_inverse(ring: CommutativeRing[A]) -> PowerSeries[A]:
    """Return the series z⁻¹, whose product with a series delays it."""
    return PowerSeries(ring, Stream.of(ring, [ring.zero, ring.one]))
