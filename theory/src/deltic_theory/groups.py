"""Abelian groups: the structure in which every change is the difference of two values [DBSP §3.2].

An abelian group A acts on itself by addition, and that change action is complete: b ⊖ a = b + (−a).
The circuits' Z-sets, streams of them and streams of streams are all built from the integers by the constructions here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from deltic.algebra.zset import ZSet
from deltic_theory.variables import A, B

X = TypeVar("X", bound=Hashable)


class AbelianGroup(Protocol[A]):
    """A set with a commutative and associative addition, a zero and a negation."""

    @property
    def zero(self) -> A:
        """The neutral element of `add`."""

    def add(self, left: A, right: A) -> A:
        """Return the sum of two elements."""

    def negate(self, value: A) -> A:
        """Return the inverse of a value: their sum is `zero`."""


def subtract(group: AbelianGroup[A], left: A, right: A) -> A:
    """Return the difference left − right.

    >>> subtract(INTEGERS, 5, 7)
    -2
    """
    return group.add(left, group.negate(right))


def total(group: AbelianGroup[A], values: Iterable[A]) -> A:
    """Return the sum of finitely many elements; zero for none.

    >>> total(INTEGERS, [1, 2, 3])
    6
    """
    result = group.zero
    for value in values:
        result = group.add(result, value)
    return result


@dataclass(frozen=True)
class Integers:
    """The integers under addition."""

    @property
    def zero(self) -> int:
        return 0

    def add(self, left: int, right: int) -> int:
        return left + right

    def negate(self, value: int) -> int:
        return -value


@dataclass(frozen=True)
class IntegersModulo:
    """The integers modulo n, as 0, …, n−1.

    >>> IntegersModulo(3).add(2, 2), IntegersModulo(3).negate(1)
    (1, 2)
    """

    modulus: int

    @property
    def zero(self) -> int:
        return 0

    def add(self, left: int, right: int) -> int:
        return (left + right) % self.modulus

    def negate(self, value: int) -> int:
        return -value % self.modulus


@dataclass(frozen=True)
class ZSets:
    """Z-sets under pointwise addition of weights [DBSP §6.1].

    >>> Z_SETS.add(ZSet({"a": 2}), ZSet({"a": -2, "b": 1}))
    ZSet({'b': 1})
    """

    @property
    def zero(self) -> ZSet[Any]:
        return ZSet()

    def add(self, left: ZSet[Any], right: ZSet[Any]) -> ZSet[Any]:
        return left + right

    def negate(self, value: ZSet[Any]) -> ZSet[Any]:
        return -value


@dataclass(frozen=True)
class Functions(Generic[X, A]):
    """Functions X → A under pointwise addition; streams over A are the case X = ℕ [DBSP Prop. 3.19].

    >>> squares_and_cubes = Functions(INTEGERS).add(lambda t: t**2, lambda t: t**3)
    >>> [squares_and_cubes(t) for t in range(4)]
    [0, 2, 12, 36]
    """

    values: AbelianGroup[A]

    @property
    def zero(self) -> Callable[[X], A]:
        return lambda _: self.values.zero

    def add(self, left: Callable[[X], A], right: Callable[[X], A]) -> Callable[[X], A]:
        return lambda x: self.values.add(left(x), right(x))

    def negate(self, value: Callable[[X], A]) -> Callable[[X], A]:
        return lambda x: self.values.negate(value(x))


@dataclass(frozen=True)
class FiniteMaps(Generic[X, A]):
    """Functions X → A that are zero almost everywhere, as mappings without zeros; Z-sets when A = ℤ [DBSP §6.1].

    >>> maps = FiniteMaps(INTEGERS)
    >>> maps.add({"a": 1, "b": 2}, {"b": -2, "c": 5})
    {'a': 1, 'c': 5}
    """

    values: AbelianGroup[A]

    @property
    def zero(self) -> Mapping[X, A]:
        return {}

    def add(self, left: Mapping[X, A], right: Mapping[X, A]) -> Mapping[X, A]:
        zero = self.values.zero
        sums = {x: self.values.add(left.get(x, zero), right.get(x, zero)) for x in {**left, **right}}
        return {x: value for x, value in sums.items() if value != zero}

    def negate(self, value: Mapping[X, A]) -> Mapping[X, A]:
        return {x: self.values.negate(a) for x, a in value.items()}


@dataclass(frozen=True)
class Pairs(Generic[A, B]):
    """The product of two groups, added componentwise.

    >>> Pairs(INTEGERS, IntegersModulo(2)).add((1, 1), (2, 1))
    (3, 0)
    """

    first: AbelianGroup[A]
    second: AbelianGroup[B]

    @property
    def zero(self) -> tuple[A, B]:
        return (self.first.zero, self.second.zero)

    def add(self, left: tuple[A, B], right: tuple[A, B]) -> tuple[A, B]:
        return (self.first.add(left[0], right[0]), self.second.add(left[1], right[1]))

    def negate(self, value: tuple[A, B]) -> tuple[A, B]:
        return (self.first.negate(value[0]), self.second.negate(value[1]))


INTEGERS = Integers()
Z_SETS = ZSets()
