"""Fixpoints and their derivatives: catches an iteration off by one, and a start that is not low enough."""

from __future__ import annotations

from itertools import islice, product

import pytest
from theory.tests.domains import AB, BOOLEAN, chains

from deltic_theory.boolean import Change, CompleteBooleanAction
from deltic_theory.derivative import Differentiable, minus_derivative
from deltic_theory.finite import functions
from deltic_theory.fixpoints import (
    NoFixpointError,
    adjust,
    adjustments,
    derivative_in_count,
    derivative_in_function,
    derivative_of_least_fixpoint,
    fixpoint_change,
    incremental_fixpoint,
    iterate,
    least_fixpoint,
    recur,
    recur_in_function,
)
from deltic_theory.functional import CompletePointwise, evaluation_by_new, evaluation_by_old
from deltic_theory.lattices import Powerset
from deltic_theory.monoids import INTEGERS_BY_INTEGERS as Z

ACTION = CompleteBooleanAction(AB)
SETS = BOOLEAN.values
BOTTOM = frozenset()
ALL_FUNCTIONS = functions(SETS, SETS)
POINTWISE = CompletePointwise(ACTION)


def is_monotone(f):
    return all(f(a) <= f(b) for a, b in product(SETS, repeat=2) if a <= b)


MONOTONE = [f for f in ALL_FUNCTIONS if is_monotone(f)]
PAIRS = [(f, g) for f, g in product(MONOTONE, repeat=2)]


def derivatives(f):
    """Three derivatives of f: least, precise and greatest."""
    return [
        Differentiable(f, lambda a, d, m=minus: m(f(ACTION.plus(a, d)), f(a)))
        for minus in (ACTION.least_minus, ACTION.minus, ACTION.greatest_minus)
    ]


def test_there_are_as_many_monotone_functions_as_there_should_be():
    assert len(MONOTONE) == 36


@pytest.mark.law("CS Continuity")
def test_monotone_functions_on_finite_posets_are_continuous():
    """Continuous for chains, that is; [CS §4.2] asks for suprema of all subsets, which is more than monotone."""
    ascending = chains(SETS, frozenset.__le__)
    for f in MONOTONE:
        assert all(f(ACTION.supremum(chain)) == ACTION.supremum(list(map(f, chain))) for chain in ascending)
    preserving = [f for f in MONOTONE if all(f(a | b) == f(a) | f(b) for a, b in product(SETS, repeat=2))]
    assert 0 < len(preserving) < len(MONOTONE)


@pytest.mark.law("FIX Prop 38")
def test_derivative_of_iteration_in_the_count():
    for f in MONOTONE:
        for g in derivatives(f):
            for n, m in product(range(4), repeat=2):
                change = derivative_in_count(g, n, m, ACTION, BOTTOM)
                assert ACTION.plus(iterate(f, n, BOTTOM), change) == iterate(f, n + m, BOTTOM)
    affine = Differentiable(lambda n: 3 * n + 1, lambda n, d: 3 * d)
    for n, m in product(range(5), repeat=2):
        assert iterate(affine, n, 2) + derivative_in_count(affine, n, m, Z, 2) == iterate(affine, n + m, 2)


@pytest.mark.law("FIX Prop 38", "CS Iterated applications")
def test_recur_yields_iterates_and_their_changes():
    """From any start, also where nothing is a least element; the paper's recurrence is one step behind its claim."""
    affine = Differentiable(lambda n: 3 * n + 1, lambda n, d: 3 * d)
    for start in range(-2, 3):
        for n, (value, change) in enumerate(islice(recur(affine, Z, start), 6)):
            assert value == iterate(affine, n, start)
            assert value + change == iterate(affine, n + 1, start)


@pytest.mark.law("FIX Thm 39")
def test_incremental_computation_of_least_fixpoints():
    for f in MONOTONE:
        for g in derivatives(f):
            assert incremental_fixpoint(g, ACTION, BOTTOM) == least_fixpoint(f, BOTTOM)


@pytest.mark.law("FIX Thm 39", "CS Differential computation of fixed points")
def test_functions_that_are_not_monotone_are_iterated_the_same():
    for f in ALL_FUNCTIONS[::3]:
        results = []
        for compute in (
            lambda f=f: least_fixpoint(f, BOTTOM, 20),
            lambda f=f: incremental_fixpoint(minus_derivative(f, ACTION, ACTION), ACTION, BOTTOM, 20),
        ):
            try:
                results.append(compute())
            except NoFixpointError:
                results.append(None)
        assert results[0] == results[1]


@pytest.mark.law("FIX Cor 36")
def test_the_supremum_of_derivatives_of_a_chain_of_functions():
    for f, g in PAIRS:
        if all(f(a) <= g(a) for a in SETS):
            for low, high in product(derivatives(f), derivatives(g)):
                points = list(product(SETS, BOOLEAN.changes))
                ascending = all(ACTION.change_leq(low.derivative(a, d), high.derivative(a, d)) for a, d in points)
                if ascending:
                    for a, d in points:
                        change = ACTION.change_supremum([low.derivative(a, d), high.derivative(a, d)])
                        assert ACTION.plus(f(a) | g(a), change) == f(ACTION.plus(a, d)) | g(ACTION.plus(a, d))


@pytest.mark.law("FIX Prop 37")
def test_factoring_of_fixpoints():
    seconds = [lambda a, b: a | b, lambda a, b: a & b, lambda a, b: a, lambda a, b: frozenset("a") | (a & b)]
    for f, g in product(MONOTONE, seconds):
        both = least_fixpoint(lambda pair, f=f, g=g: (f(pair[0]), g(*pair)), (BOTTOM, BOTTOM))
        first = least_fixpoint(f, BOTTOM)
        assert both == (first, least_fixpoint(lambda b, g=g, a=first: g(a, b), BOTTOM))


def evaluations(f, g):
    """Derivatives of evaluation at f with changes to g, from the old and from the new function."""
    df = POINTWISE.minus(g, f)
    olds = [evaluation_by_old(d.derivative, ACTION, ACTION) for d in derivatives(f)]
    news = [evaluation_by_new(d.derivative, ACTION) for d in derivatives(g)]
    return df, [*olds, *news]


@pytest.mark.law("FIX Prop 42")
def test_derivative_of_iteration_in_the_function():
    for f, g in PAIRS[::5]:
        df, candidates = evaluations(f, g)
        for evaluation, start in product(candidates, (ACTION.empty, ACTION.bottom_change)):
            for n in range(4):
                change = derivative_in_function(f, df, n, evaluation, BOTTOM, start)
                assert ACTION.plus(iterate(f, n, BOTTOM), change) == iterate(g, n, BOTTOM)
            pairs = islice(recur_in_function(f, df, evaluation, BOTTOM, start), 4)
            assert [value for value, _ in pairs] == [iterate(f, n, BOTTOM) for n in range(4)]


@pytest.mark.law("FIX Def 40", "FIX Thm 41", "CS Derivatives of fixpoints")
def test_fixpoints_of_adjust_are_changes_between_fixpoints_and_only_they():
    for f, g in PAIRS[::5]:
        df, candidates = evaluations(f, g)
        for fixpoint in (a for a in SETS if f(a) == a):
            for evaluation in candidates:
                step = adjust(f, df, fixpoint, evaluation)
                for change in BOOLEAN.changes:
                    new = ACTION.plus(fixpoint, change)
                    assert g(new) == ACTION.plus(fixpoint, step(change))
                    if step(change) == change:
                        assert g(new) == new


@pytest.mark.law("FIX Thm 41")
def test_the_pseudo_derivative_from_every_start_ends_in_a_fixpoint():
    for f, g in PAIRS[::7]:
        df, candidates = evaluations(f, g)
        fixpoint = least_fixpoint(f, BOTTOM)
        for evaluation, start in product(candidates[1::3], BOOLEAN.changes):
            try:
                change = fixpoint_change(f, df, fixpoint, evaluation, ACTION, start, 20)
            except NoFixpointError:
                continue
            assert g(ACTION.plus(fixpoint, change)) == ACTION.plus(fixpoint, change)


@pytest.mark.law("FIX Thm 43", "CS Derivatives of least fixpoints")
def test_the_derivative_of_least_fixpoints():
    for f, g in PAIRS:
        df, candidates = evaluations(f, g)
        fixpoint = least_fixpoint(f, BOTTOM)
        for evaluation in candidates:
            change = derivative_of_least_fixpoint(f, df, fixpoint, evaluation, ACTION)
            assert ACTION.plus(fixpoint, change) == least_fixpoint(g, BOTTOM)


@pytest.mark.law("FIX Thm 43")
def test_every_start_below_the_new_fixpoint_is_enough():
    for f, g in PAIRS[::3]:
        df, candidates = evaluations(f, g)
        fixpoint, new = least_fixpoint(f, BOTTOM), least_fixpoint(g, BOTTOM)
        for evaluation, start in product(candidates, BOOLEAN.changes):
            if ACTION.plus(fixpoint, start) <= new:
                change = fixpoint_change(f, df, fixpoint, evaluation, ACTION, start)
                assert ACTION.plus(fixpoint, change) == new


@pytest.mark.law("FIX Thm 43")
def test_the_empty_change_is_not_enough():
    """With f(X) = X ∪ {a} and then f(X) = X, the fact a supports itself; the least fixpoint is empty."""
    f, g = (lambda x: x | frozenset("a")), (lambda x: x)
    df, candidates = evaluations(f, g)
    for evaluation in candidates:
        stuck = fixpoint_change(f, df, frozenset("a"), evaluation, ACTION, ACTION.empty)
        assert ACTION.plus(frozenset("a"), stuck) == frozenset("a")
        right = derivative_of_least_fixpoint(f, df, frozenset("a"), evaluation, ACTION)
        assert ACTION.plus(frozenset("a"), right) == frozenset()


@pytest.mark.law("FIX Thm 43")
def test_the_empty_change_is_enough_where_the_function_only_grows():
    for f, g in PAIRS:
        if all(f(a) <= g(a) for a in SETS):
            df, candidates = evaluations(f, g)
            fixpoint = least_fixpoint(f, BOTTOM)
            change = fixpoint_change(f, df, fixpoint, candidates[4], ACTION, ACTION.empty)
            assert ACTION.plus(fixpoint, change) == least_fixpoint(g, BOTTOM)


# The trap of the design, over the generic fixpoint operators: transitive closure of a graph with a cycle.
EDGES = frozenset({(1, 2), (2, 3), (3, 2)})
GRAPHS = CompleteBooleanAction(Powerset(frozenset(product((1, 2, 3), repeat=2))))


def closure_step(edges):
    return lambda tc: edges | frozenset((x, y) for x, z in tc for w, y in edges if z == w)


def closure_derivative(edges):
    return minus_derivative(closure_step(edges), GRAPHS, GRAPHS).derivative


@pytest.mark.law("FIX Thm 43")
def test_facts_on_a_cycle_support_each_other_from_the_empty_change():
    old, new = closure_step(EDGES), closure_step(EDGES - {(1, 2)})
    df = CompletePointwise(GRAPHS).minus(new, old)
    evaluation = evaluation_by_new(closure_derivative(EDGES - {(1, 2)}), GRAPHS)
    fixpoint, wanted = least_fixpoint(old, frozenset()), least_fixpoint(new, frozenset())
    cycle = {(2, 2), (2, 3), (3, 2), (3, 3)}
    assert fixpoint == cycle | {(1, 2), (1, 3)}
    assert wanted == cycle

    stuck = GRAPHS.plus(fixpoint, fixpoint_change(old, df, fixpoint, evaluation, GRAPHS, GRAPHS.empty))
    assert stuck == cycle | {(1, 2), (1, 3)}
    assert new(stuck) == stuck

    exact = derivative_of_least_fixpoint(old, df, fixpoint, evaluation, GRAPHS)
    assert GRAPHS.plus(fixpoint, exact) == wanted

    over_deleted = Change(frozenset(), frozenset({(1, 2), (1, 3)}))
    exact = fixpoint_change(old, df, fixpoint, evaluation, GRAPHS, over_deleted)
    assert GRAPHS.plus(fixpoint, exact) == wanted


@pytest.mark.law("FIX Thm 43")
def test_the_least_change_removes_everything_and_iterates_the_new_function():
    old, new = closure_step(EDGES), closure_step(EDGES - {(1, 2)})
    df = CompletePointwise(GRAPHS).minus(new, old)
    evaluation = evaluation_by_new(closure_derivative(EDGES - {(1, 2)}), GRAPHS)
    fixpoint = least_fixpoint(old, frozenset())
    steps = adjustments(old, df, fixpoint, evaluation, GRAPHS.bottom_change)
    reached = [GRAPHS.plus(fixpoint, change) for change in islice(steps, 4)]
    assert reached == [iterate(new, n, frozenset()) for n in range(4)]


@pytest.mark.law("CS Monotone functions with ascending chains")
def test_on_finite_algebras_monotone_is_enough():
    """The hypotheses of [CS §5.2]'s last proposition hold on finite algebras for every pair of monotone functions."""
    for f, g in PAIRS[::11]:
        df, _ = evaluations(f, g)
        for new in derivatives(g)[1:2]:
            change = derivative_of_least_fixpoint(
                f, df, least_fixpoint(f, BOTTOM), evaluation_by_new(new.derivative, ACTION), ACTION
            )
            assert ACTION.plus(least_fixpoint(f, BOTTOM), change) == least_fixpoint(g, BOTTOM)


def test_endless_iterations_are_reported():
    with pytest.raises(NoFixpointError, match="not stationary after 10 steps"):
        least_fixpoint(lambda n: n + 1, 0, 10)
    with pytest.raises(NoFixpointError, match="not stationary"):
        fixpoint_change(abs, None, 0, lambda pair, change: change[1] + 1, Z, 0, 10)
