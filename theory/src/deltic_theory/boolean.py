"""The change action L⋈ of a Boolean algebra: what to add and what to remove, kept disjoint [FIX §3.2].

    a ⊕ (p, q) = (a ∨ p) ∧ ¬q        (p, q) · (r, s) = ((p ∧ ¬s) ∨ r, (q ∧ ¬r) ∨ s)

It is complete in three ways that matter, least, greatest and precise, and by [FIX Cor. 21] the derivatives of a
function into it are exactly what lies between the derivatives of the first two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from deltic_theory.change_action import ChangeAction
from deltic_theory.lattices import BooleanAlgebra, GeneralizedBooleanAlgebra, below, join_all
from deltic_theory.variables import DA, A

L = TypeVar("L")


@dataclass(frozen=True)
class Change(Generic[L]):
    """A change (up, down): first join `up`, then take `down` away. The two are disjoint in every change of L⋈."""

    up: L
    down: L

    def inverse(self) -> Change[L]:
        """Return the change with the two exchanged."""
        return Change(self.down, self.up)


@dataclass(frozen=True)
class BooleanAction(Generic[L]):
    """L⋈ over any generalized Boolean algebra, with the precise minus operator [FIX Prop. 19, 23].

    >>> from deltic_theory.lattices import FiniteSets
    >>> action = BooleanAction(FiniteSets())
    >>> sorted(action.plus(frozenset({1, 2}), action.change(frozenset({3}), frozenset({1}))))
    [2, 3]
    >>> action.minus(frozenset({2, 3}), frozenset({1, 2}))
    Change(up=frozenset({3}), down=frozenset({1}))
    """

    algebra: GeneralizedBooleanAlgebra[L]

    def change(self, up: L, down: L) -> Change[L]:
        """Return the change (up, down); ValueError where the two are not disjoint."""
        if self.algebra.meet(up, down) != self.algebra.bottom:
            raise ValueError(f"a change adds and removes disjoint parts, but {up!r} and {down!r} overlap")
        return Change(up, down)

    @property
    def empty(self) -> Change[L]:
        return Change(self.algebra.bottom, self.algebra.bottom)

    def compose(self, first: Change[L], second: Change[L]) -> Change[L]:
        join, without = self.algebra.join, self.algebra.without
        return Change(
            join(without(first.up, second.down), second.up), join(without(first.down, second.up), second.down)
        )

    def plus(self, value: L, change: Change[L]) -> L:
        return self.algebra.without(self.algebra.join(value, change.up), change.down)

    def minus(self, target: L, source: L) -> Change[L]:
        """Return the precise difference (a ∧ ¬b, b ∧ ¬a): its parts are as small as possible [FIX Prop. 23]."""
        return Change(self.algebra.without(target, source), self.algebra.without(source, target))

    def leq(self, left: L, right: L) -> bool:
        return below(self.algebra, left, right)

    def change_leq(self, left: Change[L], right: Change[L]) -> bool:
        """Return the change order ≤_Δ, which here is that of L × L^op: more added, less removed."""
        return self.leq(left.up, right.up) and self.leq(right.down, left.down)

    def pointwise_leq(self, left: Change[L], right: Change[L]) -> bool:
        """Return the order ≤_pt of L × L: more added, more removed [FIX Def. 22]."""
        return self.leq(left.up, right.up) and self.leq(left.down, right.down)

    def greatest_minus(self, target: L, source: L) -> Change[L]:
        """Return the greatest difference a ⊖_⊤ b = (a, b ∧ ¬a) [FIX Prop. 20]."""
        return Change(target, self.algebra.without(source, target))

    def is_precise(self, value: L, change: Change[L]) -> bool:
        """Return whether `change` adds only what `value` lacks and removes only what it has."""
        return self.minus(self.plus(value, change), value) == change


@dataclass(frozen=True)
class CompleteBooleanAction(BooleanAction[L]):
    """L⋈ over a Boolean algebra with a top, which has all suprema and the least minus operator too.

    >>> from deltic_theory.lattices import Powerset
    >>> action = CompleteBooleanAction(Powerset(frozenset("ab")))
    >>> action.least_minus(frozenset("a"), frozenset("a"))
    Change(up=frozenset(), down=frozenset({'b'}))
    >>> action.bottom_change == Change(frozenset(), frozenset("ab"))
    True
    """

    algebra: BooleanAlgebra[L]

    @property
    def bottom(self) -> L:
        return self.algebra.bottom

    @property
    def bottom_change(self) -> Change[L]:
        """The least change (⊥, ⊤): remove everything."""
        return Change(self.algebra.bottom, self.algebra.top)

    def supremum(self, values: Sequence[L]) -> L:
        return join_all(self.algebra, values)

    def change_supremum(self, changes: Sequence[Change[L]]) -> Change[L]:
        """⋁ (pᵢ, qᵢ) = (⋁ pᵢ ∧ ¬⋀ qᵢ, ⋀ qᵢ) [FIX Prop. 34]; `bottom_change` for none."""
        down = self.algebra.top
        for change in changes:
            down = self.algebra.meet(down, change.down)
        up = join_all(self.algebra, (change.up for change in changes))
        return Change(self.algebra.without(up, down), down)

    def least_minus(self, target: L, source: L) -> Change[L]:
        """Return the least difference a ⊖_⊥ b = (a ∧ ¬b, ¬a) [FIX Prop. 20]."""
        return Change(self.algebra.without(target, source), self.algebra.complement(target))


@dataclass(frozen=True)
class OutsideBounds(Generic[A, DA, L]):
    """Where a candidate is not a derivative, with the least and the greatest change that would have been right."""

    value: A
    change: DA
    candidate: Change[L]
    least: Change[L]
    greatest: Change[L]


def outside_bounds(
    function: Callable[[A], L],
    candidate: Callable[[A, DA], Change[L]],
    source: ChangeAction[A, DA],
    target: CompleteBooleanAction[L],
    values: Sequence[A],
    changes: Sequence[DA],
) -> OutsideBounds[A, DA, L] | None:
    """Decides by [FIX Cor. 21] whether `candidate` is a derivative of `function`: f′_⊖⊥ ≤ candidate ≤ f′_⊖⊤ everywhere.

    None means that it is one on all of `values` and `changes`; else the first place outside the bounds.

    >>> from deltic_theory.lattices import Powerset
    >>> sets = Powerset(frozenset("ab"))
    >>> action = CompleteBooleanAction(sets)
    >>> changes = [Change(p, q) for p in sets.elements() for q in sets.elements() if not p & q]
    >>> swapped = lambda a, change: change.inverse()
    >>> outside_bounds(sets.complement, swapped, action, action, sets.elements(), changes) is None
    True
    >>> unchanged = lambda a, change: change
    >>> outside_bounds(sets.complement, unchanged, action, action, sets.elements(), changes).change
    Change(up=frozenset(), down=frozenset({'a'}))
    """
    for value in values:
        for change in changes:
            old, new = function(value), function(source.plus(value, change))
            least, greatest = target.least_minus(new, old), target.greatest_minus(new, old)
            proposed = candidate(value, change)
            if not (target.change_leq(least, proposed) and target.change_leq(proposed, greatest)):
                return OutsideBounds(value, change, proposed, least, greatest)
    return None
