"""The change actions that every set has: empty, full, discrete, one per transitive relation [FIX §2.1.1; CS §2]."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic

from deltic_theory.change_action import Monoid
from deltic_theory.variables import A, D


@dataclass(frozen=True)
class Empty(Generic[A, D]):
    """Â_⊥: changes from any monoid, none of which changes anything; the coarsest action.

    >>> from deltic_theory.monoids import NATURALS
    >>> Empty(NATURALS).plus("a", 5)
    'a'
    """

    monoid: Monoid[D]

    @property
    def empty(self) -> D:
        return self.monoid.empty

    def compose(self, first: D, second: D) -> D:
        return self.monoid.compose(first, second)

    def plus(self, value: A, change: D) -> A:
        return value


@dataclass(frozen=True)
class Trivial:
    """The monoid with one element, the empty tuple."""

    @property
    def empty(self) -> tuple[()]:
        return ()

    def compose(self, first: tuple[()], second: tuple[()]) -> tuple[()]:
        return ()


def discrete() -> Empty[A, tuple[()]]:
    """A_disc: the empty change and no other, so that only equal values reach each other.

    [CS §2] takes no changes at all; a monoid has at least its neutral element.
    """
    return Empty(Trivial())


@dataclass(frozen=True)
class Full(Generic[A]):
    """Â_⊤: all functions A → A as changes, composed and evaluated; complete, and the finest action.

    >>> Full().plus(99, lambda n: n + 1)
    100
    """

    @property
    def empty(self) -> Callable[[A], A]:
        return lambda a: a

    def compose(self, first: Callable[[A], A], second: Callable[[A], A]) -> Callable[[A], A]:
        return lambda a: second(first(a))

    def plus(self, value: A, change: Callable[[A], A]) -> A:
        return change(value)

    def minus(self, target: A, source: A) -> Callable[[A], A]:
        return lambda _: target


Step = tuple[A, A]


@dataclass(frozen=True)
class Relation(Generic[A]):
    """A_≤: for a transitive relation, the pairs b ≤ c, each of which turns b into c and leaves the rest alone [CS §2].

    Two pairs do not compose to one pair: (b, c) then (c, d) also moves c, which (b, d) does not.
    So changes are finite sequences of pairs, the free monoid, applied one after another.

    >>> divides = Relation(lambda b, c: c % b == 0)
    >>> step = divides.step(2, 6)
    >>> divides.plus(2, step), divides.plus(3, step)
    (6, 3)
    """

    related: Callable[[A, A], bool]

    @property
    def empty(self) -> tuple[Step[A], ...]:
        return ()

    def step(self, source: A, target: A) -> tuple[Step[A], ...]:
        """Return the change from `source` to `target`; ValueError where they are not related."""
        if not self.related(source, target):
            raise ValueError(f"{source!r} is not related to {target!r}")
        return ((source, target),)

    def compose(self, first: tuple[Step[A], ...], second: tuple[Step[A], ...]) -> tuple[Step[A], ...]:
        return first + second

    def plus(self, value: A, change: tuple[Step[A], ...]) -> A:
        for source, target in change:
            if value == source:
                value = target
        return value


def relation_of(pairs: Iterable[tuple[A, A]]) -> Relation[A]:
    """Return the action of a relation given by its pairs."""
    known = list(pairs)
    return Relation(lambda b, c: (b, c) in known)
