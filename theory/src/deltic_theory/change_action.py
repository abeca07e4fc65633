"""Change actions: values, changes that compose, and how a change is applied [FIX §2.1].

A change action is a set A of values, a monoid ΔA of changes and an action ⊕ of the monoid on the set:

    a ⊕ 0 = a        a ⊕ (δa · δb) = (a ⊕ δa) ⊕ δb

That is all `ChangeAction` asks for. What some actions offer beyond it is a protocol of its own: a change between any
two values (`Complete`), at most one such change (`Thin`), an order (`Ordered`), suprema (`Continuous`).
Values and changes are compared with ==; where equality is extensional the law checkers take another comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

from deltic_theory.variables import A, D


class Monoid(Protocol[D]):
    """An associative composition with a neutral element."""

    @property
    def empty(self) -> D:
        """The neutral element of `compose`, written 0."""

    def compose(self, first: D, second: D) -> D:
        """Return the product first · second; among changes: first the one, then the other."""


class ChangeAction(Monoid[D], Protocol[A, D]):
    """A monoid of changes with its action on values [FIX Def. 1]."""

    def plus(self, value: A, change: D) -> A:
        """Return the changed value, value ⊕ change."""


class Complete(ChangeAction[A, D], Protocol[A, D]):
    """A change action with a minus operator: between any two values there is a change [FIX Def. 4, 5]."""

    def minus(self, target: A, source: A) -> D:
        """Return a change target ⊖ source with source ⊕ (target ⊖ source) = target."""


class Thin(ChangeAction[A, D], Protocol[A, D]):
    """A change action with at most one change between two values, so that derivatives into it are unique [FIX §2.2]."""

    def between(self, source: A, target: A) -> D | None:
        """Return the only change with source ⊕ change = target; None where there is none."""


class Ordered(ChangeAction[A, D], Protocol[A, D]):
    """A change action over partial orders, its operations monotone in each argument [FIX Def. 14]."""

    def leq(self, left: A, right: A) -> bool:
        """Return whether left ≤ right among values."""

    def change_leq(self, left: D, right: D) -> bool:
        """Return whether left ≤ right among changes."""


class Continuous(Ordered[A, D], Protocol[A, D]):
    """An ordered change action with least elements and suprema that its operations preserve [FIX Def. 33]."""

    @property
    def bottom(self) -> A:
        """The least value ⊥."""

    @property
    def bottom_change(self) -> D:
        """The least change; in general not the empty one."""

    def supremum(self, values: Sequence[A]) -> A:
        """Return the least upper bound of a directed family of values."""

    def change_supremum(self, changes: Sequence[D]) -> D:
        """Return the least upper bound of a directed family of changes."""


def plus_all(action: ChangeAction[A, D], value: A, changes: Iterable[D]) -> A:
    """Return the value after all of `changes`, applied in order.

    >>> from deltic_theory.monoids import NATURALS
    >>> plus_all(NATURALS, 1, [2, 3])
    6
    """
    for change in changes:
        value = action.plus(value, change)
    return value


def compose_all(monoid: Monoid[D], changes: Iterable[D]) -> D:
    """Return the product of `changes` in order; the empty change for none.

    >>> from deltic_theory.monoids import WORDS
    >>> compose_all(WORDS, [("a",), ("b", "c")])
    ('a', 'b', 'c')
    """
    result = monoid.empty
    for change in changes:
        result = monoid.compose(result, change)
    return result


@dataclass(frozen=True)
class ChangesOf(Generic[D]):
    """The changes of an action, changed by further changes: (ΔA, ΔA, ·) [FIX §2.1.1].

    >>> from deltic_theory.monoids import NATURALS
    >>> ChangesOf(NATURALS).plus(2, 3)
    5
    """

    monoid: Monoid[D]

    @property
    def empty(self) -> D:
        return self.monoid.empty

    def compose(self, first: D, second: D) -> D:
        return self.monoid.compose(first, second)

    def plus(self, value: D, change: D) -> D:
        return self.monoid.compose(value, change)
