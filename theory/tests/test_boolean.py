"""The change action of Boolean algebras: catches a change that is not disjoint, precise or within bounds."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from theory.tests.domains import AB, BOOLEAN, boolean_pairs, chains, sets

from deltic_theory.boolean import BooleanAction, Change, CompleteBooleanAction, outside_bounds
from deltic_theory.comparing import is_derivative, kernel_leq
from deltic_theory.finite import functions
from deltic_theory.lattices import FiniteSets, Powerset, below
from deltic_theory.law import LawViolation, check
from deltic_theory.laws import check_change_action, check_complete, check_continuous, check_ordered, minus_law

ACTION = CompleteBooleanAction(AB)
SETS, CHANGES = BOOLEAN.values, BOOLEAN.changes
OPEN = BooleanAction(FiniteSets())
NOTHING, A, B, ALL = (frozenset(s) for s in ("", "a", "b", "ab"))


@pytest.mark.law("FIX Prop 19")
def test_the_boolean_action_is_a_complete_change_action():
    check_change_action(ACTION, SETS, CHANGES)
    check_complete(ACTION, SETS)
    check_change_action(OPEN, sets, boolean_pairs, examples=100)
    check_complete(OPEN, sets, examples=100)


@pytest.mark.law("FIX Prop 19")
@given(boolean_pairs, boolean_pairs)
def test_changes_stay_disjoint(first, second):
    composed = OPEN.compose(first, second)
    assert not composed.up & composed.down
    assert OPEN.change(composed.up, composed.down) == composed
    assert composed.inverse().inverse() == composed


@pytest.mark.law("FIX Prop 19")
def test_overlapping_changes_are_refused():
    with pytest.raises(ValueError, match="overlap"):
        OPEN.change(A, A)
    # With overlapping pairs the empty change is not neutral, which is why [CS §4.4]'s L × L is not a monoid.
    draft = lambda first, second: Change(  # noqa: E731
        (first.up - first.down) | second.up, (first.down - second.up) | second.down
    )
    assert draft(Change(A, A), ACTION.empty) != Change(A, A)


@pytest.mark.law("FIX Prop 20")
def test_least_and_greatest_minus_operators():
    for minus in (ACTION.least_minus, ACTION.greatest_minus):
        check([minus_law(ACTION.plus, minus)], {"a": SETS, "b": SETS})
    for old, new in product(SETS, repeat=2):
        fitting = [d for d in CHANGES if ACTION.plus(old, d) == new]
        assert [d for d in fitting if all(ACTION.change_leq(d, e) for e in fitting)] == [ACTION.least_minus(new, old)]
        assert [d for d in fitting if all(ACTION.change_leq(e, d) for e in fitting)] == [
            ACTION.greatest_minus(new, old)
        ]


@pytest.mark.law("FIX Prop 20")
def test_the_drafts_least_minus_is_none():
    """[CS §4.4] has (a ∧ ¬b, b), which removes what a and b share; [FIX] has (a ∧ ¬b, ¬a)."""
    draft = lambda a, b: Change(a - b, b)  # noqa: E731
    with pytest.raises(LawViolation, match="not a minus operator"):
        check([minus_law(ACTION.plus, draft)], {"a": SETS, "b": SETS})


@pytest.mark.law("FIX Cor 21")
def test_the_bounds_decide_what_is_a_derivative():
    candidates = [
        lambda a, d: d,
        lambda a, d: d.inverse(),
        lambda a, d: ACTION.empty,
        lambda a, d: ACTION.minus(ACTION.plus(a, d), a),
        lambda a, d: Change(d.up - a, d.down & a),
        lambda a, d: Change(d.up | (a - d.down), d.down),
    ]
    decided = []
    for f, candidate in product(functions(SETS, SETS)[::5], candidates):
        verdict = outside_bounds(f, candidate, ACTION, ACTION, SETS, CHANGES) is None
        assert verdict == is_derivative(f, candidate, BOOLEAN, ACTION)
        decided.append(verdict)
    assert decided.count(True) >= 3
    assert decided.count(False) > 100


@pytest.mark.law("FIX Cor 21")
def test_a_candidate_outside_the_bounds_is_shown_with_them():
    where = outside_bounds(lambda a: a, lambda a, d: ACTION.empty, ACTION, ACTION, SETS, CHANGES)
    assert where is not None
    assert (where.value, where.change, where.candidate) == (NOTHING, Change(A, NOTHING), ACTION.empty)
    assert (where.least, where.greatest) == (Change(A, B), Change(A, NOTHING))


@pytest.mark.law("FIX Def 22", "FIX Prop 23")
def test_the_precise_minus_is_least_in_the_pointwise_and_the_kernel_order():
    for old, new in product(SETS, repeat=2):
        precise = ACTION.minus(new, old)
        fitting = [d for d in CHANGES if ACTION.plus(old, d) == new]
        assert precise in fitting
        for left, right in product(fitting, repeat=2):
            smaller = ACTION.pointwise_leq(left, right)
            assert smaller == kernel_leq(ACTION, left, right, SETS)
        assert all(ACTION.pointwise_leq(precise, d) for d in fitting)
        assert [d for d in fitting if ACTION.is_precise(old, d)] == [precise]


@pytest.mark.law("FIX Def 22")
def test_the_kernel_order_and_the_pointwise_order_differ_on_unrelated_changes():
    assert kernel_leq(ACTION, Change(A, NOTHING), Change(NOTHING, A), SETS)
    assert not ACTION.pointwise_leq(Change(A, NOTHING), Change(NOTHING, A))


@pytest.mark.law("FIX Def 33", "FIX Prop 34")
def test_the_boolean_action_is_continuous():
    check_ordered(ACTION, SETS, CHANGES)
    value_chains = chains(SETS, ACTION.leq)
    change_chains = chains(CHANGES, ACTION.change_leq)
    check_continuous(ACTION, SETS, value_chains, CHANGES, change_chains)


@pytest.mark.law("FIX Prop 34")
def test_suprema_of_changes_are_least_upper_bounds():
    for left, right in product(CHANGES, repeat=2):
        sup = ACTION.change_supremum([left, right])
        assert not sup.up & sup.down
        above = [d for d in CHANGES if ACTION.change_leq(left, d) and ACTION.change_leq(right, d)]
        assert sup in above
        assert all(ACTION.change_leq(sup, d) for d in above)
    assert ACTION.change_supremum([]) == ACTION.bottom_change
    assert all(ACTION.change_leq(ACTION.bottom_change, d) for d in CHANGES)
    assert ACTION.supremum([]) == ACTION.bottom


@pytest.mark.law("FIX Def 33")
def test_naturals_with_infinity_have_no_suprema_of_changes():
    """(ℕ̄, ℕ, +): the chain 0, 1, 2, … of changes has no upper bound, as n is not above n + 1 at the value 0."""
    infinity = float("inf")
    leq = lambda d, e: all(a + d <= a + e for a in (0, 1, infinity))  # noqa: E731
    assert all(leq(n, n + 1) and not leq(n + 1, n) for n in range(50))


@pytest.mark.law("FIX Prop 35")
def test_continuity_is_continuity_in_each_variable():
    """On finite posets continuous means monotone, so the statement is that of monotone functions."""
    pairs = list(product(SETS, repeat=2))
    leq = frozenset.__le__
    for f in [lambda a, b: a | b, lambda a, b: a - b, lambda a, b: a & b, lambda a, b: a]:
        separately = all(
            (not leq(b, c) or leq(f(a, b), f(a, c))) and (not leq(b, c) or leq(f(b, a), f(c, a)))
            for a, b, c in product(SETS, repeat=3)
        )
        jointly = all(leq(f(*p), f(*q)) for p, q in product(pairs, repeat=2) if leq(p[0], q[0]) and leq(p[1], q[1]))
        assert separately == jointly


@pytest.mark.law("CS Suprema of derivatives")
def test_suprema_of_derivatives_are_derivatives():
    for old, new in product(SETS, repeat=2):
        fitting = [d for d in CHANGES if ACTION.plus(old, d) == new]
        for left, right in product(fitting, repeat=2):
            assert ACTION.plus(old, ACTION.change_supremum([left, right])) == new


def test_powersets_are_boolean_algebras():
    algebra = Powerset(frozenset("ab"))
    for a in algebra.elements():
        assert algebra.join(a, algebra.complement(a)) == algebra.top
        assert algebra.meet(a, algebra.complement(a)) == algebra.bottom
        assert algebra.without(algebra.top, a) == algebra.complement(a)
        assert below(algebra, algebra.bottom, a)
        assert below(algebra, a, algebra.top)
    assert algebra.elements()[0] == NOTHING
    assert algebra.elements()[-1] == ALL
