"""Function spaces: catches a derivative of evaluation that mixes old and new function or argument."""

from __future__ import annotations

from collections import Counter
from itertools import cycle, product
from random import Random

import pytest
from theory.tests.domains import BOOLEAN, JOIN, POINTS, generated, point_actions

from deltic_theory.change_action import ChangesOf
from deltic_theory.derivative import Differentiable, compose
from deltic_theory.finite import Finite, functions, some_derivative
from deltic_theory.functional import (
    CompletePointwise,
    Pointwise,
    curry,
    derivative_from_evaluation,
    evaluate,
    evaluation_by_new,
    evaluation_by_old,
)
from deltic_theory.laws import check_change_action, check_complete, check_derivative
from deltic_theory.monoids import INTEGERS_BY_INTEGERS as Z
from deltic_theory.monoids import NATURALS
from deltic_theory.products import Product, pairing

N = range(-3, 4)
# Polynomials f(n) = c₀ + c₁n + c₂n² with their derivatives, and changes of them of the same form.
COEFFICIENTS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (-1, 2, 0), (2, -1, 1), (0, 3, -2)]


def polynomial(c):
    return Differentiable(lambda n: c[0] + c[1] * n + c[2] * n * n, lambda n, d: c[1] * d + c[2] * (2 * n * d + d * d))


def added(c, e):
    return tuple(x + y for x, y in zip(c, e, strict=True))


def agree(f, g):
    return all(f(n) == g(n) for n in N)


POLYNOMIALS = [polynomial(c).function for c in COEFFICIENTS]


@pytest.mark.law("FIX Def 30")
def test_the_pointwise_action():
    check_change_action(CompletePointwise(Z), POLYNOMIALS, POLYNOMIALS, agree, agree)
    check_complete(CompletePointwise(Z), POLYNOMIALS, agree)
    naturals = [lambda n: n, lambda n: 3, lambda n: n * n]
    check_change_action(Pointwise(NATURALS), naturals, naturals, agree, agree)


@pytest.mark.law("FIX Def 30")
def test_the_pointwise_action_where_the_order_of_changes_matters():
    """Into all actions of three points, f ⊕ (δf · δg) is (f ⊕ δf) ⊕ δg at every point."""
    for target in point_actions():
        functional = Pointwise(target.action)
        changes = functions(POINTS, target.changes)
        for f, df, dg in zip(functions(POINTS, target.values), cycle(changes[::3]), cycle(changes[1::5]), strict=False):
            at_once = functional.plus(f, functional.compose(df, dg))
            one_by_one = functional.plus(functional.plus(f, df), dg)
            assert list(map(at_once, POINTS)) == list(map(one_by_one, POINTS))
            assert list(map(functional.plus(f, functional.empty), POINTS)) == list(map(f, POINTS))


@pytest.mark.law("FIX Prop 29", "FIX Prop 32")
def test_derivatives_of_evaluation_where_the_order_of_changes_matters():
    """Between all actions of three points of which the second is complete, hence the pointwise one well defined."""
    targets = [target for target in point_actions() if target.is_complete()]
    tried = 0
    for source, target in product(point_actions(), targets):
        functional = Pointwise(target.action)
        for f, df in zip(functions(POINTS, POINTS)[::4], cycle(functions(POINTS, target.changes)[::7]), strict=False):
            new = functional.plus(f, df)
            old_table, new_table = (some_derivative(g, source, target) for g in (f, new))
            by_old = evaluation_by_old(lambda *at, table=old_table: table[at], source.action, target.action)
            by_new = evaluation_by_new(lambda *at, table=new_table: table[at], target.action)
            for a, da, evaluation in product(source.values, source.changes, (by_old, by_new)):
                change = evaluation((f, a), (df, da))
                assert target.action.plus(f(a), change) == new(source.action.plus(a, da))
                tried += 1
    assert tried > 1000


@pytest.mark.law("FIX Def 28", "FIX Prop 32", "CS Incrementalization")
def test_both_derivatives_of_evaluation():
    functional = Pointwise(Z)
    for c, e in product(COEFFICIENTS, repeat=2):
        f, df = polynomial(c), polynomial(e).function
        by_old = evaluation_by_old(f.derivative, Z, Z)
        by_new = evaluation_by_new(polynomial(added(c, e)).derivative, Z)
        for a, da in product(N, repeat=2):
            new = functional.plus(f.function, df)(Z.plus(a, da))
            for evaluation in (by_old, by_new):
                change = evaluation((f.function, a), (df, da))
                assert new == Z.plus(evaluate((f.function, a)), change)


@pytest.mark.law("FIX Prop 29")
def test_members_of_a_functional_action_are_differentiable():
    for c in COEFFICIENTS:
        f = polynomial(c)
        for evaluation in (evaluation_by_old(f.derivative, Z, Z), evaluation_by_new(f.derivative, Z)):
            check_derivative(derivative_from_evaluation(f.function, evaluation, Pointwise(Z)), Z, Z, N, N)


def random_action(rng):
    """Three or four points, changed by what one or two random functions generate; often they are permutations."""
    points = tuple(range(rng.choice((3, 4))))
    draw = rng.sample if rng.random() < 0.5 else rng.choices
    return generated([tuple(draw(points, k=len(points))) for _ in range(5 - len(points))], points)


def differentiable_plus(target):
    """⊕: B × ΔB → B, where ΔB is complete and ⊕ is differentiable; None where one of these is not so."""
    of_changes = Finite(ChangesOf(target.action), target.changes, target.changes)
    if not of_changes.is_complete():
        return None
    pairs = Finite(
        Product(target.action, of_changes.action),
        list(product(target.values, target.changes)),
        list(product(target.changes, target.changes)),
    )
    table = some_derivative(lambda pair: target.action.plus(*pair), pairs, target)
    return table and Differentiable(lambda pair: target.action.plus(*pair), lambda *at: table[at])


def by_the_chain_rule(plus, f, df, source, target):
    """f ⊕ δf as ⊕ ∘ ⟨f, δf⟩, with what that makes of derivatives of f and of δf [FIX Thm 31, second condition]."""
    of_changes = Finite(ChangesOf(target.action), target.changes, target.changes)
    tables = some_derivative(f, source, target), some_derivative(df, source, of_changes)
    both = [Differentiable(g, lambda *at, t=t: t[at]) for g, t in zip((f, df), tables, strict=True)]
    return compose(plus, pairing(*both))


@pytest.mark.law("FIX Thm 31")
def test_when_pointwise_actions_are_well_defined():
    """Between random actions: under either condition f ⊕ δf is differentiable wherever f is; under neither it may not.

    That ΔB is complete makes it a group. Then B is complete, too, where it is one orbit; the others are the second
    condition's own.
    """
    found = Counter()
    for seed in range(150):
        rng = Random(seed)
        source, target = random_action(rng), random_action(rng)
        plus, functional = differentiable_plus(target), Pointwise(target.action)
        kept = []
        for f in rng.sample(functions(source.values, target.values), 16):
            df = {a: rng.choice(target.changes) for a in source.values}.__getitem__
            if some_derivative(f, source, target) is None:
                continue
            changed = functional.plus(f, df)
            kept.append(some_derivative(changed, source, target) is not None)
            if plus:
                built = by_the_chain_rule(plus, f, df, source, target)
                assert list(map(built, source.values)) == list(map(changed, source.values))
                check_derivative(built, source.action, target.action, source.values, source.changes)
        condition = "complete" if target.is_complete() else "second" if plus else "neither"
        assert condition == "neither" or all(kept)
        found[condition, all(kept)] += 1
    assert found["complete", True] > 10
    assert found["second", True] > 10
    assert found["neither", False] > 10


@pytest.mark.law("FIX Thm 31")
def test_pointwise_changes_into_any_action_may_not():
    """L∨ is not complete and neither is its change monoid: adding to one argument's value alone breaks f."""
    f, df = (lambda a: a), {a: frozenset() for a in JOIN.values}
    df[frozenset()] = frozenset("ab")
    changed = Pointwise(JOIN.action).plus(f, df.__getitem__)
    assert some_derivative(f, JOIN, JOIN) is not None
    assert some_derivative(changed, JOIN, JOIN) is None


@pytest.mark.law("CS Exponentials", "CS Limits and exponentials")
def test_currying():
    times = Differentiable(lambda p: p[0] * p[1], lambda p, d: d[0] * p[1] + p[0] * d[1] + d[0] * d[1])
    check_derivative(curry(times, 0), Z, Pointwise(Z), N, N, equal=agree)
    evaluated = lambda pair: evaluate((curry(times, 0)(pair[0]), pair[1]))  # noqa: E731
    assert all(evaluated(pair) == times(pair) for pair in product(N, repeat=2))


@pytest.mark.law("CS Exponentials of thin and complete")
def test_pointwise_into_thin_is_thin():
    for target in point_actions():
        tables = list(product(target.changes, repeat=2))
        values = list(product(target.values, repeat=2))
        exponential = Finite(Product(target.action, target.action), values, tables)
        assert exponential.is_thin() == target.is_thin()
        assert exponential.is_complete() == target.is_complete()


def test_boolean_functions_changed_pointwise():
    pointwise = CompletePointwise(BOOLEAN.action)
    sets = BOOLEAN.values
    f, g = (lambda a: frozenset("ab") - a), (lambda a: a)
    assert all(pointwise.plus(f, pointwise.minus(g, f))(a) == g(a) for a in sets)
