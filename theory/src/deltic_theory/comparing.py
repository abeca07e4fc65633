"""Comparing change actions and changes: coarseness, reachability, kernels, orders [FIX §2.4, §2.5, §3.1; CS §3, §4.1].

Everything here is a decision over `Finite` actions, or over the listed values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deltic_theory.change_action import ChangeAction, Ordered
from deltic_theory.finite import Finite
from deltic_theory.variables import A, B, D, E


def coarser(left: Finite[A, D], right: Finite[A, E]) -> bool:
    """Return whether what one change of `left` does to a value, some change of `right` does too [FIX Def. 10].

    >>> from deltic_theory.finite import boolean_changes, join_changes
    >>> from deltic_theory.lattices import Powerset
    >>> sets = Powerset(frozenset("ab"))
    >>> coarser(join_changes(sets), boolean_changes(sets)), coarser(boolean_changes(sets), join_changes(sets))
    (True, False)
    """
    return all(right.reaches(a, left.action.plus(a, change)) for a in left.values for change in left.changes)


def finer(left: Finite[A, D], right: Finite[A, E]) -> bool:
    """Return whether `right` is coarser than `left`."""
    return coarser(right, left)


def equivalent(left: Finite[A, D], right: Finite[A, E]) -> bool:
    """Return whether each is coarser than the other: the same functions are differentiable [FIX §2.4]."""
    return coarser(left, right) and coarser(right, left)


def reachability(finite: Finite[A, D]) -> set[tuple[A, A]]:
    """Return the reachability preorder as its pairs: the functor Reach on objects [CS §3.1].

    >>> from deltic_theory.finite import join_changes
    >>> from deltic_theory.lattices import Powerset
    >>> len(reachability(join_changes(Powerset(frozenset("a")))))
    3
    """
    return {(a, finite.action.plus(a, change)) for a in finite.values for change in finite.changes}


def is_monotone(function: Callable[[A], B], source: set[tuple[A, A]], target: set[tuple[B, B]]) -> bool:
    """Return whether `function` maps pairs of one relation to pairs of another: what Reach asks of morphisms [CS
    §3.1].
    """
    return all((function(a), function(b)) in target for a, b in source)


def is_ascending(finite: Finite[A, D], leq: Callable[[A, A], bool]) -> bool:
    """Return whether a ≤ b implies that a reaches b [CS §4.1]."""
    return all(finite.reaches(a, b) for a in finite.values for b in finite.values if leq(a, b))


def is_descending(finite: Finite[A, D], leq: Callable[[A, A], bool]) -> bool:
    """Return whether a ≤ b implies that b reaches a [CS §4.1]."""
    return all(finite.reaches(b, a) for a in finite.values for b in finite.values if leq(a, b))


def kernel(action: ChangeAction[A, D], change: D, values: Sequence[A]) -> set[tuple[A, A]]:
    """Return the pairs of values that `change` makes equal: what it forgets [FIX Def. 13].

    >>> from deltic_theory.elementary import Full
    >>> len(kernel(Full(), lambda n: n + 1, range(3))), len(kernel(Full(), lambda n: 100, range(3)))
    (3, 9)
    """
    images = [(a, action.plus(a, change)) for a in values]
    return {(a, b) for a, image in images for b, other in images if image == other}


def kernel_leq(action: ChangeAction[A, D], left: D, right: D, values: Sequence[A]) -> bool:
    """Return the kernel order: whether `left` forgets no more than `right` [FIX Def. 13]."""
    return kernel(action, left, values) <= kernel(action, right, values)


def change_order(
    action: ChangeAction[A, D], leq: Callable[[A, A], bool], values: Sequence[A]
) -> Callable[[D, D], bool]:
    """Return the change order ≤_Δ that an order of the values induces: a ⊕ δa ≤ a ⊕ δb for every value a [FIX Def. 15].

    A preorder; two changes that act alike are below each other.

    >>> from deltic_theory.monoids import INTEGERS_DESCENDING
    >>> change_order(INTEGERS_DESCENDING, lambda a, b: a <= b, range(3))(5, 2)
    True
    """
    return lambda left, right: all(leq(action.plus(a, left), action.plus(a, right)) for a in values)


def minus_leq(
    left: Callable[[A, A], D], right: Callable[[A, A], D], change_leq: Callable[[D, D], bool], values: Sequence[A]
) -> bool:
    """Return the order of minus operators: every difference of one is below the other's [CS §4.1.3]."""
    return all(change_leq(left(a, b), right(a, b)) for a in values for b in values)


def is_derivative(
    function: Callable[[A], B], candidate: Callable[[A, D], E], source: Finite[A, D], target: ChangeAction[B, E]
) -> bool:
    """Return whether f(a ⊕ δa) = f(a) ⊕ candidate(a, δa) for all values and changes [FIX Def. 2]."""
    return all(
        function(source.action.plus(a, change)) == target.plus(function(a), candidate(a, change))
        for a in source.values
        for change in source.changes
    )


def is_sup_derivative(
    function: Callable[[A], B], candidate: Callable[[A, D], E], source: Finite[A, D], target: Ordered[B, E]
) -> bool:
    """Return whether f(a ⊕ δa) ≤ f(a) ⊕ candidate(a, δa): the candidate overshoots at most [CS §4.1.1].

    >>> from deltic_theory.monoids import INTEGERS_ASCENDING
    >>> small = Finite(INTEGERS_ASCENDING, range(-3, 4), range(4))
    >>> is_sup_derivative(abs, lambda a, up: up, small, INTEGERS_ASCENDING)
    True
    """
    return all(
        target.leq(function(source.action.plus(a, change)), target.plus(function(a), candidate(a, change)))
        for a in source.values
        for change in source.changes
    )


def is_sub_derivative(
    function: Callable[[A], B], candidate: Callable[[A, D], E], source: Finite[A, D], target: Ordered[B, E]
) -> bool:
    """Return whether f(a ⊕ δa) ≥ f(a) ⊕ candidate(a, δa): the candidate undershoots at most [CS §4.1.1]."""
    return all(
        target.leq(target.plus(function(a), candidate(a, change)), function(source.action.plus(a, change)))
        for a in source.values
        for change in source.changes
    )


def is_sandwiched(
    lower: Callable[[A, D], E],
    candidate: Callable[[A, D], E],
    upper: Callable[[A, D], E],
    source: Finite[A, D],
    change_leq: Callable[[E, E], bool],
) -> bool:
    """Return whether the candidate lies between two functions in the change order: the premise of [FIX Thm 17]."""
    return all(
        change_leq(lower(a, change), candidate(a, change)) and change_leq(candidate(a, change), upper(a, change))
        for a in source.values
        for change in source.changes
    )
