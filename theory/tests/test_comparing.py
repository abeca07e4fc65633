"""Coarseness, reachability and kernels on finite actions: catches a comparison taken in the wrong direction."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from theory.tests.domains import AB, BOOLEAN, JOIN, MEET, POINTS, point_actions, point_functions

from deltic_theory.comparing import (
    coarser,
    equivalent,
    finer,
    is_ascending,
    is_descending,
    is_monotone,
    kernel,
    kernel_leq,
    reachability,
)
from deltic_theory.elementary import Empty, Full, discrete, relation_of
from deltic_theory.finite import Finite, Tables, boolean_changes, full_changes, some_derivative
from deltic_theory.functional import CompletePointwise
from deltic_theory.laws import check_complete
from deltic_theory.monoids import INTEGERS_BY_INTEGERS, NATURALS

ACTIONS = point_actions()
STILL = Finite(discrete(), POINTS, [()])
PAIRS = list(product(ACTIONS, repeat=2))


@pytest.mark.law("FIX Def 10", "CS Change structure ordering")
def test_coarseness_is_a_preorder_with_least_and_greatest_elements():
    empty = Finite(Empty(NATURALS), POINTS, range(3))
    for action in ACTIONS:
        assert coarser(action, action)
        assert coarser(empty, action)
        assert coarser(STILL, action)
        assert coarser(action, ACTIONS[-1])
        assert finer(action, empty)
        assert equivalent(action, ACTIONS[-1]) == action.is_complete()
    for a, b, c in product(ACTIONS, repeat=3):
        assert not (coarser(a, b) and coarser(b, c)) or coarser(a, c)
    assert equivalent(empty, STILL)
    assert not coarser(ACTIONS[-1], empty)


@pytest.mark.law("FIX Def 10")
def test_one_way_actions_are_strictly_coarser_than_the_boolean_one():
    for action in (JOIN, MEET):
        assert coarser(action, BOOLEAN)
        assert not finer(action, BOOLEAN)
    assert not coarser(JOIN, MEET)
    assert not coarser(MEET, JOIN)


@pytest.mark.law("FIX Prop 11")
def test_differentiability_survives_a_coarser_source_and_a_finer_target():
    for (a2, a1), (b1, b2) in product(PAIRS[::7], PAIRS[::5]):
        if coarser(a2, a1) and coarser(b1, b2):
            for f in point_functions()[::4]:
                if some_derivative(f, a1, b1) is not None:
                    assert some_derivative(f, a2, b2) is not None


@pytest.mark.law("FIX Prop 12", "CS Change structure ordering")
def test_coarser_iff_the_identity_is_differentiable():
    for left, right in PAIRS:
        assert coarser(left, right) == (some_derivative(lambda a: a, left, right) is not None)


@pytest.mark.law("CS Reachability order", "CS Finer actions reach more")
def test_reachability_is_a_preorder_that_grows_with_fineness():
    for action in ACTIONS:
        reach = reachability(action)
        assert {(a, a) for a in POINTS} <= reach
        assert all((a, c) in reach for (a, b), (d, c) in product(reach, repeat=2) if b == d)
        assert action.is_complete() == (len(reach) == 9)
    for left, right in PAIRS:
        assert coarser(left, right) == (reachability(left) <= reachability(right))


@pytest.mark.law("CS Differentiable iff monotone", "FIX Thm 10.1")
def test_differentiable_iff_monotone_for_reachability():
    for left, right in PAIRS:
        source, target = reachability(left), reachability(right)
        for f in point_functions()[::2]:
            assert (some_derivative(f, left, right) is not None) == is_monotone(f, source, target)


@pytest.mark.law("CS Isomorphism by reachability")
def test_isomorphic_iff_the_preorders_are():
    for left, right in PAIRS:
        source, target = reachability(left), reachability(right)
        for images in permutations(POINTS):
            inverse = [images.index(a) for a in POINTS]
            both_ways = all(
                some_derivative(f, a, b) is not None
                for f, a, b in [(images.__getitem__, left, right), (inverse.__getitem__, right, left)]
            )
            assert both_ways == ({(images[a], images[b]) for a, b in source} == target)


@pytest.mark.law("CS Discrete and complete")
def test_every_function_out_of_a_discrete_or_into_a_complete_action_is_differentiable():
    for f in point_functions():
        assert all(some_derivative(f, STILL, action) is not None for action in ACTIONS)
        assert all(some_derivative(f, action, ACTIONS[-1]) is not None for action in ACTIONS)


@pytest.mark.law("CS Equivalence to PreOrd", "FIX Thm 10.1")
def test_reach_and_the_action_of_a_preorder_are_inverse_up_to_equivalence():
    """The categories are equivalent by a choice of changes; what it yields on finite actions is checked here."""
    for action in ACTIONS:
        reach = sorted(reachability(action))
        back = Finite(relation_of(reach), POINTS, [(), *(((a, b),) for a, b in reach)])
        assert reachability(back) == set(reach)
        assert equivalent(back, action)


@pytest.mark.law("FIX Def 48")
def test_pointwise_actions_into_complete_ones_are_complete():
    """Convenience is an isomorphism with an exponential; for complete actions it means that all functions are there."""
    functions = [lambda n: n * n, lambda n: -n, lambda n: 5]
    check_complete(CompletePointwise(INTEGERS_BY_INTEGERS), functions, lambda f, g: all(f(n) == g(n) for n in range(5)))


@pytest.mark.law("CS Ascending and descending", "CS Lattice change structures")
def test_ascending_and_descending():
    assert is_ascending(JOIN, frozenset.__le__)
    assert not is_descending(JOIN, frozenset.__le__)
    assert is_descending(MEET, frozenset.__le__)
    assert not is_ascending(MEET, frozenset.__le__)
    assert is_ascending(BOOLEAN, frozenset.__le__)
    assert is_descending(BOOLEAN, frozenset.__le__)


@pytest.mark.law("FIX Def 13")
def test_kernels_of_functions():
    full = full_changes(POINTS)
    constant, cycle = (1, 1, 1), (1, 2, 0)
    assert len(kernel(full.action, constant, POINTS)) == 9
    assert kernel(full.action, cycle, POINTS) == {(a, a) for a in POINTS}
    assert kernel_leq(full.action, cycle, constant, POINTS)
    assert not kernel_leq(full.action, constant, cycle, POINTS)
    assert kernel_leq(Full(), lambda n: n + 1, lambda n: 100, range(90, 101))
    for change in full.changes:
        pairs = kernel(full.action, change, POINTS)
        assert all((b, a) in pairs for a, b in pairs)
        assert all((a, c) in pairs for (a, b), (d, c) in product(pairs, repeat=2) if b == d)


@pytest.mark.law("FIX Def 13")
def test_the_kernel_of_a_boolean_change_depends_on_what_it_touches():
    for left, right in product(BOOLEAN.changes, repeat=2):
        smaller = left.up | left.down <= right.up | right.down
        assert kernel_leq(BOOLEAN.action, left, right, BOOLEAN.values) == smaller


def test_finite_listings_are_complete():
    assert len(boolean_changes(AB).changes) == 9
    table = Tables(POINTS)
    assert table.plus(2, table.compose((1, 2, 0), (0, 0, 1))) == table.plus(table.plus(2, (1, 2, 0)), (0, 0, 1))
