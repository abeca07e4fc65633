"""Lattices and Boolean algebras, and the one-way change actions L_∨ and L_∧ [FIX §3.2; CS §4.3]."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

L = TypeVar("L")
X = TypeVar("X", bound=Hashable)


class JoinSemilattice(Protocol[L]):
    """A partial order with least upper bounds of pairs, and a least element."""

    @property
    def bottom(self) -> L:
        """The least element ⊥."""

    def join(self, left: L, right: L) -> L:
        """Return the least upper bound left ∨ right."""


class MeetSemilattice(Protocol[L]):
    """A partial order with greatest lower bounds of pairs, and a greatest element."""

    @property
    def top(self) -> L:
        """The greatest element ⊤."""

    def meet(self, left: L, right: L) -> L:
        """Return the greatest lower bound left ∧ right."""


class GeneralizedBooleanAlgebra(JoinSemilattice[L], Protocol[L]):
    """A distributive lattice with relative complements: finite sets over an unbounded universe are one."""

    def meet(self, left: L, right: L) -> L:
        """Return the greatest lower bound left ∧ right."""

    def without(self, left: L, right: L) -> L:
        """Return the relative complement left ∧ ¬right."""


class BooleanAlgebra(GeneralizedBooleanAlgebra[L], Protocol[L]):
    """A generalized Boolean algebra with a greatest element, and so with complements."""

    @property
    def top(self) -> L:
        """The greatest element ⊤."""

    def complement(self, value: L) -> L:
        """Return the complement ¬value."""


def below(lattice: JoinSemilattice[L], left: L, right: L) -> bool:
    """Return the lattice's order: left ≤ right when left ∨ right = right.

    >>> below(FiniteSets(), frozenset("a"), frozenset("ab"))
    True
    """
    return lattice.join(left, right) == right


def join_all(lattice: JoinSemilattice[L], values: Iterable[L]) -> L:
    """Return the least upper bound of finitely many elements; ⊥ for none."""
    result = lattice.bottom
    for value in values:
        result = lattice.join(result, value)
    return result


@dataclass(frozen=True)
class FiniteSets(Generic[X]):
    """Finite sets under union and intersection, without a greatest one.

    >>> sorted(FiniteSets().without(frozenset("abc"), frozenset("b")))
    ['a', 'c']
    """

    @property
    def bottom(self) -> frozenset[X]:
        return frozenset()

    def join(self, left: frozenset[X], right: frozenset[X]) -> frozenset[X]:
        return left | right

    def meet(self, left: frozenset[X], right: frozenset[X]) -> frozenset[X]:
        return left & right

    def without(self, left: frozenset[X], right: frozenset[X]) -> frozenset[X]:
        return left - right


@dataclass(frozen=True)
class Powerset(FiniteSets[X]):
    """The Boolean algebra of the subsets of a finite universe.

    >>> sorted(Powerset(frozenset("abc")).complement(frozenset("b")))
    ['a', 'c']
    """

    universe: frozenset[X]

    @property
    def top(self) -> frozenset[X]:
        return self.universe

    def complement(self, value: frozenset[X]) -> frozenset[X]:
        return self.universe - value

    def elements(self) -> list[frozenset[X]]:
        """Return all subsets, smallest first."""
        subsets: list[frozenset[X]] = [frozenset()]
        for x in sorted(self.universe, key=repr):
            subsets += [subset | {x} for subset in subsets]
        return sorted(subsets, key=lambda subset: (len(subset), sorted(map(repr, subset))))


@dataclass(frozen=True)
class JoinAction(Generic[L]):
    """L_∨ = (L, L, ∨): changes only go up. Ascending; every function into it has a sup-derivative.

    Sets under union are the instance over `FiniteSets`.

    >>> sorted(JoinAction(FiniteSets()).plus(frozenset("a"), frozenset("b")))
    ['a', 'b']
    """

    lattice: JoinSemilattice[L]

    @property
    def empty(self) -> L:
        return self.lattice.bottom

    def compose(self, first: L, second: L) -> L:
        return self.lattice.join(first, second)

    def plus(self, value: L, change: L) -> L:
        return self.lattice.join(value, change)

    def leq(self, left: L, right: L) -> bool:
        return below(self.lattice, left, right)

    def change_leq(self, left: L, right: L) -> bool:
        return below(self.lattice, left, right)


@dataclass(frozen=True)
class MeetAction(Generic[L]):
    """L_∧ = (L, L, ∧): changes only go down. Descending; every function into it has a sub-derivative.

    Sets under intersection are the instance over `Powerset`; it is not thin, as {0} ∩ {1} = {0} ∩ {2}.

    >>> MeetAction(Powerset(frozenset("abc"))).plus(frozenset("ab"), frozenset("bc"))
    frozenset({'b'})
    """

    lattice: MeetSemilattice[L]

    @property
    def empty(self) -> L:
        return self.lattice.top

    def compose(self, first: L, second: L) -> L:
        return self.lattice.meet(first, second)

    def plus(self, value: L, change: L) -> L:
        return self.lattice.meet(value, change)

    def leq(self, left: L, right: L) -> bool:
        return self.lattice.meet(left, right) == left

    def change_leq(self, left: L, right: L) -> bool:
        return self.lattice.meet(left, right) == left
