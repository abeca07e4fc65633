"""Superposition: two change actions on the same values glued to one, the least that is finer than both [CS §3.5]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from deltic_theory.change_action import ChangeAction
from deltic_theory.products import Left, Right
from deltic_theory.variables import A, D, E

F = TypeVar("F")


@dataclass(frozen=True)
class Superposition(Generic[A, D, E]):
    """The free superposition: finite sequences of changes of either kind, applied one after another.

    >>> from deltic_theory.monoids import INTEGERS_ASCENDING, INTEGERS_DESCENDING
    >>> both = Superposition(INTEGERS_ASCENDING, INTEGERS_DESCENDING)
    >>> both.plus(5, (Left(3), Right(4)))
    4
    """

    first: ChangeAction[A, D]
    second: ChangeAction[A, E]

    @property
    def empty(self) -> tuple[Left[D] | Right[E], ...]:
        return ()

    def compose(
        self, first: tuple[Left[D] | Right[E], ...], second: tuple[Left[D] | Right[E], ...]
    ) -> tuple[Left[D] | Right[E], ...]:
        return first + second

    def plus(self, value: A, change: tuple[Left[D] | Right[E], ...]) -> A:
        for step in change:
            if isinstance(step, Left):
                value = self.first.plus(value, step.value)
            else:
                value = self.second.plus(value, step.value)
        return value


@dataclass(frozen=True)
class CompactSuperposition(Generic[A, D, E]):
    """Superposition by pairs (δa, δb), first the one, then the other, through ≀ [CS §3.5].

    `swap` is ≀: a later change δc of the first kind is moved before an earlier δb of the second,

        a ⊕ δa ⊗ δb ⊕ δc = a ⊕ (δa · ≀(δc, δb)) ⊗ δb

    which, as δa may be empty, says that δb followed by δc equals ≀(δc, δb) followed by δb.

    >>> from deltic_theory.monoids import INTEGERS_ASCENDING, INTEGERS_DESCENDING
    >>> both = CompactSuperposition(INTEGERS_ASCENDING, INTEGERS_DESCENDING, lambda up, down: up)
    >>> both.compose((3, 4), (2, 1)), both.plus(5, (5, 5))
    ((5, 5), 5)
    """

    first: ChangeAction[A, D]
    second: ChangeAction[A, E]
    swap: Callable[[D, E], D]

    @property
    def empty(self) -> tuple[D, E]:
        return (self.first.empty, self.second.empty)

    def compose(self, first: tuple[D, E], second: tuple[D, E]) -> tuple[D, E]:
        return (
            self.first.compose(first[0], self.swap(second[0], first[1])),
            self.second.compose(first[1], second[1]),
        )

    def plus(self, value: A, change: tuple[D, E]) -> A:
        return self.second.plus(self.first.plus(value, change[0]), change[1])


def flatten(
    change: tuple[Left[D] | Right[E], ...],
    first: Callable[[A, D], F],
    second: Callable[[A, E], F],
    target: ChangeAction[A, F],
    value: A,
) -> F:
    """Return the derivative of the identity from a free superposition into an action finer than both: the steps'
    product.

    `first` and `second` are derivatives of the identity from the two parts; each step is taken at the value it meets.
    """
    result = target.empty
    for step in change:
        here = target.plus(value, result)
        part = first(here, step.value) if isinstance(step, Left) else second(here, step.value)
        result = target.compose(result, part)
    return result


def pair_of(change: tuple[Left[D] | Right[E], ...], compact: CompactSuperposition[A, D, E]) -> tuple[D, E]:
    """Return the pair that does what a sequence does: the homomorphism from the free to the compact superposition.

    >>> from deltic_theory.monoids import INTEGERS_ASCENDING, INTEGERS_DESCENDING
    >>> both = CompactSuperposition(INTEGERS_ASCENDING, INTEGERS_DESCENDING, lambda up, down: up)
    >>> pair_of((Right(4), Left(3), Left(1)), both)
    (4, 4)
    """
    result = compact.empty
    for step in change:
        pair = (step.value, compact.second.empty) if isinstance(step, Left) else (compact.first.empty, step.value)
        result = compact.compose(result, pair)
    return result
