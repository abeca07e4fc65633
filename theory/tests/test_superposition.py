"""Superposition: catches a swap that loses a change, and a join of actions that is not the least."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory.tests.domains import AB, BOOLEAN, JOIN, MEET, POINTS, generated, point_actions

from deltic_theory.boolean import Change, CompleteBooleanAction
from deltic_theory.comparing import coarser, equivalent
from deltic_theory.elementary import discrete
from deltic_theory.finite import Finite
from deltic_theory.law import Law, LawViolation, check
from deltic_theory.laws import check_change_action
from deltic_theory.monoids import INTEGERS_ASCENDING, INTEGERS_BY_INTEGERS, INTEGERS_DESCENDING
from deltic_theory.products import Left, Right
from deltic_theory.superposition import CompactSuperposition, Superposition, flatten, pair_of

FREE = Superposition(INTEGERS_ASCENDING, INTEGERS_DESCENDING)
COMPACT = CompactSuperposition(INTEGERS_ASCENDING, INTEGERS_DESCENDING, lambda up, down: up)
steps = st.one_of(st.integers(0, 5).map(Left), st.integers(0, 5).map(Right))
sequences = st.lists(steps, max_size=4).map(tuple)
N = range(-3, 4)


@pytest.mark.law("CS Superposition")
def test_free_superposition():
    check_change_action(FREE, N, sequences, examples=80)
    either = Superposition(JOIN.action, MEET.action)
    few = [(), (Left(frozenset("a")),), (Right(frozenset("b")),), (Left(frozenset("b")), Right(frozenset("a")))]
    check_change_action(either, JOIN.values, few)


@pytest.mark.law("CS Compact superposition")
def test_compact_superposition():
    pairs = list(product(range(3), repeat=2))
    check_change_action(COMPACT, N, pairs)
    check([swap_law(COMPACT)], {"a": N, "δa": range(3), "δb": range(3), "δc": range(3)})


def swap_law(compact):
    up, down = compact.first, compact.second
    return Law(
        "not a swap",
        "a ⊕ δa ⊗ δb ⊕ δc = a ⊕ (δa · ≀(δc, δb)) ⊗ δb",
        ("a", "δa", "δb", "δc"),
        lambda a, d, e, f: up.plus(down.plus(up.plus(a, d), e), f),
        lambda a, d, e, f: down.plus(up.plus(a, up.compose(d, compact.swap(f, e))), e),
    )


@pytest.mark.law("CS Compact superposition")
def test_a_wrong_swap_is_caught():
    wrong = CompactSuperposition(INTEGERS_ASCENDING, INTEGERS_DESCENDING, lambda up, down: max(up - down, 0))
    with pytest.raises(LawViolation, match="not a swap"):
        check([swap_law(wrong)], {"a": N, "δa": range(3), "δb": range(3), "δc": range(3)})


class Modulo:
    """Numbers modulo 5 and an operation on them: `empty` is neutral, `changes` are what is applied."""

    def __init__(self, act, empty, changes):
        self.act, self.empty, self.changes = act, empty, changes

    def compose(self, first, second):
        return self.act(first, second)

    def plus(self, value, change):
        return self.act(value, change)


SUMS = Modulo(lambda a, d: (a + d) % 5, 0, range(5))
FACTORS = Modulo(lambda a, d: a * d % 5, 1, range(1, 5))
# What is added behind a factor, before it: (a + c / b) * b = a * b + c.
SCALED = CompactSuperposition(SUMS, FACTORS, lambda summand, factor: summand * pow(factor, -1, 5) % 5)


@pytest.mark.law("CS Compact superposition")
def test_a_swap_that_depends_on_what_it_passes():
    """Sums and products: catches a composition that swaps past another change than the earlier one, or by another."""
    pairs = list(product(SUMS.changes, FACTORS.changes))
    check_change_action(SCALED, range(5), pairs, examples=200)
    changes = {"δa": SUMS.changes, "δb": FACTORS.changes, "δc": SUMS.changes}
    check([swap_law(SCALED)], {"a": range(5), **changes})
    free = Superposition(SUMS, FACTORS)
    moves = [*map(Left, SUMS.changes), *map(Right, FACTORS.changes)]
    for sequence in product(moves, repeat=3):
        pair = pair_of(sequence, SCALED)
        assert all(SCALED.plus(a, pair) == free.plus(a, sequence) for a in range(5))


@pytest.mark.law("CS Compact superposition")
def test_a_swap_that_moves_nothing_is_none_of_sums_and_products():
    still = CompactSuperposition(SUMS, FACTORS, lambda summand, factor: summand)
    with pytest.raises(LawViolation, match="not a swap"):
        check([swap_law(still)], {"a": range(5), "δa": range(5), "δb": range(1, 5), "δc": range(5)})


@pytest.mark.law("CS Compact superposition")
@given(st.integers(-5, 5), sequences)
def test_pairs_do_what_sequences_do_and_ups_with_downs_are_integers(value, sequence):
    up, down = pair_of(sequence, COMPACT)
    assert COMPACT.plus(value, (up, down)) == FREE.plus(value, sequence)
    assert INTEGERS_BY_INTEGERS.plus(value, up - down) == FREE.plus(value, sequence)


def superposed(left, right):
    """The free superposition of two actions on three points, as the functions that its sequences compute."""
    return generated([*left.changes, *right.changes])


@pytest.mark.law("CS Least upper bound", "CS Change structure semilattice")
def test_superposition_is_the_least_upper_bound():
    actions = point_actions()
    for left, right in product(actions, repeat=2):
        both = superposed(left, right)
        assert coarser(left, both)
        assert coarser(right, both)
        assert equivalent(both, superposed(right, left))
        for other in actions:
            if coarser(left, other) and coarser(right, other):
                assert coarser(both, other)
    still = Finite(discrete(), POINTS, [()])
    assert all(coarser(still, action) for action in actions)


@pytest.mark.law("CS Least upper bound")
@given(st.integers(-5, 5), sequences)
def test_the_identity_into_a_finer_action_multiplies_the_steps(value, sequence):
    change = flatten(sequence, lambda a, up: up, lambda a, down: -down, INTEGERS_BY_INTEGERS, value)
    assert INTEGERS_BY_INTEGERS.plus(value, change) == FREE.plus(value, sequence)


@pytest.mark.law("CS Least upper bound")
def test_steps_are_taken_at_the_values_that_they_meet():
    """Derivatives that read the value: exact changes, of what is not there yet and of what is still there.

    Catches a step that is taken at the value before the others, or behind itself.
    """
    action = CompleteBooleanAction(AB)
    moves = [Left(p) for p in JOIN.changes] + [Right(m) for m in MEET.changes]
    free = Superposition(JOIN.action, MEET.action)
    for sequence, value in product(product(moves, repeat=3), JOIN.values):
        change = flatten(
            sequence,
            lambda a, p: Change(p - a, frozenset()),
            lambda a, m: Change(frozenset(), a - m),
            action,
            value,
        )
        assert action.plus(value, change) == free.plus(value, sequence)


@pytest.mark.law("CS Boolean superposition")
def test_the_boolean_action_is_the_superposition_of_join_and_meet():
    """A join is (p, ⊥), a meet with m is (⊥, ¬m), and the product of these does what the sequence does."""
    action = CompleteBooleanAction(AB)
    top = AB.top
    moves = [Left(p) for p in JOIN.changes] + [Right(m) for m in MEET.changes]
    free = Superposition(JOIN.action, MEET.action)
    for sequence in product(moves, repeat=3):
        for value in JOIN.values:
            change = flatten(
                sequence,
                lambda a, p: Change(p, frozenset()),
                lambda a, m: Change(frozenset(), top - m),
                action,
                value,
            )
            assert action.plus(value, change) == free.plus(value, sequence)
    for change in BOOLEAN.changes:
        sequence = (Left(change.up), Right(top - change.down))
        assert all(free.plus(a, sequence) == action.plus(a, change) for a in JOIN.values)
