"""Change actions whose values and changes can be listed, on which every comparison is decidable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Generic, TypeVar

from deltic_theory.boolean import BooleanAction, Change, CompleteBooleanAction
from deltic_theory.change_action import ChangeAction
from deltic_theory.lattices import JoinAction, MeetAction, Powerset
from deltic_theory.variables import A, B, D

X = TypeVar("X")


@dataclass(frozen=True)
class Finite(Generic[A, D]):
    """A change action with all its values and enough of its changes: every other acts like one of `changes`.

    >>> from deltic_theory.monoids import INTEGERS_MODULO_2
    >>> bit = Finite(INTEGERS_MODULO_2, (0, 1), (0, 1))
    >>> bit.reaches(0, 1), bit.is_complete(), bit.is_thin()
    (True, True, True)
    """

    action: ChangeAction[A, D]
    values: Sequence[A]
    changes: Sequence[D]

    def change_between(self, source: A, target: A) -> D | None:
        """Some change from `source` to `target`, the first listed; None where there is none."""
        return next((change for change in self.changes if self.action.plus(source, change) == target), None)

    def reaches(self, source: A, target: A) -> bool:
        """Return the reachability order: whether some change leads from `source` to `target` [CS §3.1]."""
        return any(self.action.plus(source, change) == target for change in self.changes)

    def is_complete(self) -> bool:
        """Return whether every value reaches every other [FIX Def. 4]."""
        return all(self.reaches(a, b) for a in self.values for b in self.values)

    def is_thin(self) -> bool:
        """Return whether different changes lead every value to different values [FIX §2.2]."""
        return all(len({self.action.plus(a, d) for d in self.changes}) == len(set(self.changes)) for a in self.values)


def join_changes(sets: Powerset[X]) -> Finite[frozenset[X], frozenset[X]]:
    """L_∨ over all subsets of a finite universe."""
    return Finite(JoinAction(sets), sets.elements(), sets.elements())


def meet_changes(sets: Powerset[X]) -> Finite[frozenset[X], frozenset[X]]:
    """L_∧ over all subsets of a finite universe."""
    return Finite(MeetAction(sets), sets.elements(), sets.elements())


def boolean_changes(sets: Powerset[X]) -> Finite[frozenset[X], Change[frozenset[X]]]:
    """L⋈ over all subsets of a finite universe: all disjoint pairs.

    >>> len(boolean_changes(Powerset(frozenset("ab"))).changes)
    9
    """
    subsets = sets.elements()
    action: BooleanAction[frozenset[X]] = CompleteBooleanAction(sets)
    return Finite(action, subsets, [Change(p, q) for p in subsets for q in subsets if not p & q])


def full_changes(values: Sequence[A]) -> Finite[A, tuple[A, ...]]:
    """Â_⊤ over a finite set: all functions, as tables of the values in their order.

    >>> len(full_changes("ab").changes)
    4
    """
    return Finite(Tables(tuple(values)), values, list(product(values, repeat=len(values))))


@dataclass(frozen=True)
class Tables(Generic[A]):
    """The full change action with functions as tables: the i-th entry is the image of the i-th value."""

    values: tuple[A, ...]

    @property
    def empty(self) -> tuple[A, ...]:
        return self.values

    def compose(self, first: tuple[A, ...], second: tuple[A, ...]) -> tuple[A, ...]:
        return tuple(second[self.values.index(image)] for image in first)

    def plus(self, value: A, change: tuple[A, ...]) -> A:
        return change[self.values.index(value)]


def functions(domain: Sequence[A], codomain: Sequence[B]) -> list[Callable[[A], B]]:
    """Return all functions from one finite set to another.

    >>> len(functions("ab", range(3)))
    9
    """
    tables: list[dict[Any, B]] = [
        dict(zip(domain, images, strict=True)) for images in product(codomain, repeat=len(domain))
    ]
    return [table.__getitem__ for table in tables]


def some_derivative(
    function: Callable[[A], B], source: Finite[A, D], target: Finite[B, X]
) -> dict[tuple[A, D], X] | None:
    """Return a derivative of `function` by search, as a table; None where the function is not differentiable.

    >>> from deltic_theory.elementary import discrete
    >>> bits, still = full_changes((0, 1)), Finite(discrete(), (0, 1), [()])
    >>> some_derivative(lambda bit: 1 - bit, bits, still) is None
    True
    """
    table: dict[tuple[A, D], X] = {}
    for value, change in product(source.values, source.changes):
        result = target.change_between(function(value), function(source.action.plus(value, change)))
        if result is None:
            return None
        table[value, change] = result
    return table
