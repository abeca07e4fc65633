"""Orders on changes, sup- and sub-derivatives, the sandwich lemma: catches a bound taken from the wrong side."""

from __future__ import annotations

from itertools import product

import pytest
from theory.tests.domains import AB, BOOLEAN, JOIN, MEET

from deltic_theory.boolean import CompleteBooleanAction
from deltic_theory.comparing import (
    change_order,
    is_ascending,
    is_derivative,
    is_descending,
    is_sandwiched,
    is_sub_derivative,
    is_sup_derivative,
    minus_leq,
)
from deltic_theory.derivative import Differentiable, compose
from deltic_theory.elementary import Empty, discrete
from deltic_theory.finite import Finite, functions, some_derivative
from deltic_theory.law import LawViolation
from deltic_theory.laws import check_ordered, check_sub_derivative, check_sup_derivative
from deltic_theory.monoids import INTEGERS_ASCENDING, INTEGERS_BY_INTEGERS, INTEGERS_DESCENDING, NATURALS

N = range(-3, 4)
UP = Finite(INTEGERS_ASCENDING, N, range(7))
DOWN = Finite(INTEGERS_DESCENDING, N, range(7))
BOTH = Finite(INTEGERS_BY_INTEGERS, N, range(-6, 7))
ACTION = CompleteBooleanAction(AB)
SETS, CHANGES = BOOLEAN.values, BOOLEAN.changes


def leq(a, b):
    return a <= b


@pytest.mark.law("FIX Def 15", "CS Change order")
def test_change_orders_of_the_instances():
    for action, changes in [(INTEGERS_ASCENDING, range(4)), (INTEGERS_DESCENDING, range(4))]:
        induced = change_order(action, leq, N)
        assert all(induced(d, e) == action.change_leq(d, e) for d, e in product(changes, repeat=2))
    for finite in (JOIN, MEET):
        induced = change_order(finite.action, leq, finite.values)
        assert all(induced(d, e) == finite.action.change_leq(d, e) for d, e in product(finite.changes, repeat=2))


@pytest.mark.law("FIX Def 15")
def test_the_change_order_of_a_boolean_algebra_is_that_of_its_square_with_the_second_reversed():
    induced = change_order(ACTION, leq, SETS)
    assert all(induced(d, e) == ACTION.change_leq(d, e) for d, e in product(CHANGES, repeat=2))


@pytest.mark.law("FIX Prop 16")
def test_the_change_order_makes_an_action_ordered():
    for finite in (JOIN, MEET, Finite(ACTION, SETS, CHANGES)):
        check_ordered(Induced(finite), finite.values, finite.changes)


class Induced:
    """An action with the order that its values induce on its changes."""

    def __init__(self, finite):
        self.plus, self.compose = finite.action.plus, finite.action.compose
        self.leq = leq
        self.change_leq = change_order(finite.action, leq, finite.values)


@pytest.mark.law("FIX Def 15")
def test_the_change_order_is_only_a_preorder_when_changes_act_alike():
    """[FIX Def. 15] calls it a partial order, which it is for faithful actions."""
    induced = change_order(Empty(NATURALS), leq, range(3))
    assert induced(1, 2)
    assert induced(2, 1)


def between(lower, upper):
    """All functions of a derivative's type, at one point, that lie between two changes."""
    return [d for d in CHANGES if ACTION.change_leq(lower, d) and ACTION.change_leq(d, upper)]


@pytest.mark.law("FIX Thm 17", "CS Sandwich lemma")
def test_sandwich_lemma():
    for f in functions(SETS, SETS)[::13]:
        least = lambda a, d, f=f: ACTION.least_minus(f(ACTION.plus(a, d)), f(a))  # noqa: E731
        greatest = lambda a, d, f=f: ACTION.greatest_minus(f(ACTION.plus(a, d)), f(a))  # noqa: E731
        assert is_derivative(f, least, BOOLEAN, ACTION)
        assert is_derivative(f, greatest, BOOLEAN, ACTION)
        for pick in (0, 1, -1, len(CHANGES) // 2):
            inside = lambda a, d, p=pick, lo=least, hi=greatest: at(between(lo(a, d), hi(a, d)), p)  # noqa: E731
            assert is_sandwiched(least, inside, greatest, BOOLEAN, ACTION.change_leq)
            assert is_derivative(f, inside, BOOLEAN, ACTION)


def at(choices, position):
    return choices[position % len(choices)]


@pytest.mark.law("FIX Thm 18", "CS Characterization of derivatives")
def test_between_the_least_and_the_greatest_lie_exactly_the_derivatives():
    for old, new in product(SETS, repeat=2):
        fitting = [d for d in CHANGES if ACTION.plus(old, d) == new]
        least, greatest = ACTION.least_minus(new, old), ACTION.greatest_minus(new, old)
        assert set(fitting) == set(between(least, greatest))
        assert least in fitting
        assert greatest in fitting


@pytest.mark.law("CS Sup- and sub-derivatives", "CS Lattice change structures")
def test_sup_and_sub_derivatives_into_one_way_actions():
    """Into ℤ₁ there is always a way to overshoot, into ℤ₂ to undershoot; the same for L∨ and L∧."""
    for f in functions(range(3), range(-1, 2)):
        source = Finite(discrete(), range(3), [()])
        assert is_sup_derivative(f, lambda a, d: 7, source, INTEGERS_ASCENDING)
        assert is_sub_derivative(f, lambda a, d: 7, source, INTEGERS_DESCENDING)
    for f in functions(SETS, SETS)[::11]:
        after = lambda a, d, f=f: f(ACTION.plus(a, d))  # noqa: E731
        assert is_sup_derivative(f, after, BOOLEAN, JOIN.action)
        assert is_sub_derivative(f, after, BOOLEAN, MEET.action)
    assert not is_sub_derivative(lambda a: -a, lambda a, d: 0, UP, INTEGERS_ASCENDING)


@pytest.mark.law("CS Chain rule for sub-derivatives")
def test_sub_and_sup_derivatives_compose():
    """The chain rule needs the outer function to be monotone, which [CS] leaves unsaid."""
    double = Differentiable(lambda n: 2 * n, lambda n, d: 2 * d - 1)
    third = Differentiable(lambda n: n // 3, lambda n, d: d // 3)
    check_sub_derivative(double, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)
    check_sub_derivative(third, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)
    check_sub_derivative(compose(third, double), INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)
    over = Differentiable(lambda n: n // 3, lambda n, d: d // 3 + 1)
    check_sup_derivative(over, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)
    check_sup_derivative(compose(over, over), INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)


@pytest.mark.law("CS Chain rule for sub-derivatives")
def test_sub_derivatives_of_falling_functions_do_not_compose():
    low = Differentiable(lambda n: n, lambda n, d: d - 1)
    falling = Differentiable(lambda n: -n, lambda n, d: -d)
    check_sub_derivative(low, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)
    check_sub_derivative(falling, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)
    with pytest.raises(LawViolation, match="not a sub-derivative"):
        check_sub_derivative(compose(falling, low), INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)


@pytest.mark.law("CS Sup and sub make a derivative")
def test_a_sup_derivative_that_is_a_sub_derivative_is_a_derivative():
    for f, shift in product(functions(range(2), range(3)), range(-1, 2)):
        source = Finite(discrete(), range(2), [()])
        candidate = lambda a, d, s=shift: s  # noqa: E731
        both = is_sup_derivative(f, candidate, source, BOTH.action) and is_sub_derivative(
            f, candidate, source, BOTH.action
        )
        assert both == is_derivative(f, candidate, source, BOTH.action)


@pytest.mark.law("CS Monotone changes")
def test_above_a_sup_derivative_and_below_a_sub_derivative():
    exact = Differentiable(lambda n: 2 * n, lambda n, d: 2 * d)
    for slack in range(3):
        above = Differentiable(exact.function, lambda n, d, s=slack: exact.derivative(n, d) + s)
        below = Differentiable(exact.function, lambda n, d, s=slack: exact.derivative(n, d) - s)
        check_sup_derivative(above, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)
        check_sub_derivative(below, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)
    with pytest.raises(LawViolation, match="≤"):
        check_sup_derivative(below, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS, N, N)


@pytest.mark.law("CS Ascending and descending suffice")
def test_into_ascending_actions_sub_differentiable_functions_are_differentiable():
    assert is_ascending(UP, leq)
    assert is_descending(DOWN, leq)
    for f in functions(range(3), range(3)):
        source = Finite(INTEGERS_ASCENDING, range(2), range(2))
        if is_sub_derivative(f, lambda a, d: 0, source, INTEGERS_ASCENDING):
            assert some_derivative(f, source, UP) is not None
        if is_sup_derivative(f, lambda a, d: 0, source, INTEGERS_DESCENDING):
            assert some_derivative(f, source, DOWN) is not None
        assert some_derivative(f, source, BOTH) is not None


@pytest.mark.law("CS Ascending and descending suffice")
def test_a_minimal_element_is_not_enough_where_there_is_no_least():
    """[CS §4.1.2] asks for a minimal or maximal element; two unrelated points have both, and reach nothing."""
    antichain = Finite(discrete(), ("x", "y"), [()])
    assert is_ascending(antichain, lambda a, b: a == b)
    assert is_descending(antichain, lambda a, b: a == b)
    steps = Finite(INTEGERS_ASCENDING, [0], [0, 1])
    assert some_derivative("xy".__getitem__, steps, antichain) is None


MINUSES = [ACTION.least_minus, ACTION.minus, ACTION.greatest_minus]


@pytest.mark.law("CS Minus ordering")
def test_minus_operators_are_ordered_and_their_derivatives_alike():
    for (i, low), (j, high) in product(enumerate(MINUSES), repeat=2):
        assert minus_leq(low, high, ACTION.change_leq, SETS) == (i <= j)
    for f in functions(SETS, SETS)[::23]:
        for a, d in product(SETS, CHANGES):
            least, precise, greatest = (minus(f(ACTION.plus(a, d)), f(a)) for minus in MINUSES)
            assert ACTION.change_leq(least, precise)
            assert ACTION.change_leq(precise, greatest)
