"""Superposition: catches a swap that loses a change, and a join of actions that is not the least."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltic.theory.boolean import Change, CompleteBooleanAction
from deltic.theory.comparing import coarser, equivalent
from deltic.theory.elementary import discrete
from deltic.theory.finite import Finite
from deltic.theory.law import Law, LawViolation, check
from deltic.theory.laws import check_change_action
from deltic.theory.monoids import INTEGERS_ASCENDING, INTEGERS_BY_INTEGERS, INTEGERS_DESCENDING
from deltic.theory.products import Left, Right
from deltic.theory.superposition import CompactSuperposition, Superposition, flatten, pair_of
from tests.theory.domains import AB, BOOLEAN, JOIN, MEET, POINTS, generated, point_actions

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
