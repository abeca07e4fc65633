"""Products and disjoint unions of change actions [FIX §2.3.3]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from deltic_theory.change_action import ChangeAction, Complete, Monoid
from deltic_theory.derivative import Differentiable
from deltic_theory.variables import DA, DB, DC, A, B, C

Y = TypeVar("Y")
DY = TypeVar("DY")


@dataclass(frozen=True)
class Product(Generic[A, DA, B, DB]):
    """The product A × B: pairs of values, changed componentwise by pairs of changes [FIX Prop. 8].

    >>> from deltic_theory.monoids import NATURALS, WORDS
    >>> Product(NATURALS, WORDS).plus((1, ("a",)), (2, ("b",)))
    (3, ('a', 'b'))
    """

    first: ChangeAction[A, DA]
    second: ChangeAction[B, DB]

    @property
    def empty(self) -> tuple[DA, DB]:
        return (self.first.empty, self.second.empty)

    def compose(self, first: tuple[DA, DB], second: tuple[DA, DB]) -> tuple[DA, DB]:
        return (self.first.compose(first[0], second[0]), self.second.compose(first[1], second[1]))

    def plus(self, value: tuple[A, B], change: tuple[DA, DB]) -> tuple[A, B]:
        return (self.first.plus(value[0], change[0]), self.second.plus(value[1], change[1]))


@dataclass(frozen=True)
class CompleteProduct(Product[A, DA, B, DB]):
    """The product of two complete actions, which is complete [CS §3.3].

    >>> from deltic_theory.monoids import INTEGERS_BY_INTEGERS as Z
    >>> CompleteProduct(Z, Z).minus((5, 1), (3, 3))
    (2, -2)
    """

    first: Complete[A, DA]
    second: Complete[B, DB]

    def minus(self, target: tuple[A, B], source: tuple[A, B]) -> tuple[DA, DB]:
        return (self.first.minus(target[0], source[0]), self.second.minus(target[1], source[1]))


def first_projection() -> Differentiable[tuple[A, B], tuple[DA, DB], A, DA]:
    """Return the projection π₁, differentiable with derivative π₁."""
    return Differentiable(lambda pair: pair[0], lambda _, change: change[0])


def second_projection() -> Differentiable[tuple[A, B], tuple[DA, DB], B, DB]:
    """Return the projection π₂, differentiable with derivative π₂."""
    return Differentiable(lambda pair: pair[1], lambda _, change: change[1])


def pairing(
    first: Differentiable[Y, DY, A, DA], second: Differentiable[Y, DY, B, DB]
) -> Differentiable[Y, DY, tuple[A, B], tuple[DA, DB]]:
    """Return the function ⟨f₁, f₂⟩ into a product; its derivative is the pair of the derivatives [FIX App. A.1]."""
    return Differentiable(
        lambda y: (first(y), second(y)),
        lambda y, change: (first.derivative(y, change), second.derivative(y, change)),
    )


@dataclass(frozen=True)
class Left(Generic[A]):
    """An element ι₁ a of a disjoint union."""

    value: A


@dataclass(frozen=True)
class Right(Generic[B]):
    """An element ι₂ b of a disjoint union."""

    value: B


@dataclass(frozen=True)
class Sum(Generic[A, DA, B, DB]):
    """The disjoint union A + B: a pair of changes, of which the value's side applies its own [FIX Prop. 9].

    >>> from deltic_theory.monoids import NATURALS, WORDS
    >>> Sum(NATURALS, WORDS).plus(Left(1), (2, ("b",)))
    Left(value=3)
    """

    left: ChangeAction[A, DA]
    right: ChangeAction[B, DB]

    @property
    def empty(self) -> tuple[DA, DB]:
        return (self.left.empty, self.right.empty)

    def compose(self, first: tuple[DA, DB], second: tuple[DA, DB]) -> tuple[DA, DB]:
        return (self.left.compose(first[0], second[0]), self.right.compose(first[1], second[1]))

    def plus(self, value: Left[A] | Right[B], change: tuple[DA, DB]) -> Left[A] | Right[B]:
        if isinstance(value, Left):
            return Left(self.left.plus(value.value, change[0]))
        return Right(self.right.plus(value.value, change[1]))


def left_injection(right: Monoid[DB]) -> Differentiable[A, DA, Left[A] | Right[B], tuple[DA, DB]]:
    """Return the injection ι₁; the other side's change is empty."""
    return Differentiable(Left, lambda _, change: (change, right.empty))


def right_injection(left: Monoid[DA]) -> Differentiable[B, DB, Left[A] | Right[B], tuple[DA, DB]]:
    """Return the injection ι₂; the other side's change is empty."""
    return Differentiable(Right, lambda _, change: (left.empty, change))


def copairing(
    left: Differentiable[A, DA, C, DC], right: Differentiable[B, DB, C, DC]
) -> Differentiable[Left[A] | Right[B], tuple[DA, DB], C, DC]:
    """Return the function [f, g] out of a disjoint union, by cases, and so its derivative [FIX Prop. 9].

    >>> from deltic_theory.derivative import Differentiable
    >>> length = Differentiable(len, lambda word, suffix: len(suffix))
    >>> either = copairing(Differentiable(lambda n: n, lambda n, dn: dn), length)
    >>> either(Right("ab")), either.derivative(Right("ab"), (7, "c"))
    (2, 1)
    """

    def function(value: Left[A] | Right[B]) -> C:
        return left(value.value) if isinstance(value, Left) else right(value.value)

    def derivative(value: Left[A] | Right[B], change: tuple[DA, DB]) -> DC:
        if isinstance(value, Left):
            return left.derivative(value.value, change[0])
        return right.derivative(value.value, change[1])

    return Differentiable(function, derivative)
