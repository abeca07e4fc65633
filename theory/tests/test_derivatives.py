"""Derivatives, their composition, products and sums: catches a term taken at the wrong point or in the wrong order."""

from __future__ import annotations

from itertools import product

import pytest
from theory.tests.domains import BOOLEAN, JOIN, MEET, point_actions, point_functions, words

from deltic_theory.comparing import is_derivative
from deltic_theory.derivative import (
    Differentiable,
    Partial,
    compose,
    constant,
    identity,
    minus_derivative,
    partial_derivatives,
    total_derivative,
)
from deltic_theory.finite import Finite, functions, some_derivative
from deltic_theory.law import LawViolation
from deltic_theory.laws import check_change_action, check_complete, check_derivative, check_regular
from deltic_theory.monoids import INTEGERS_BY_INTEGERS as Z
from deltic_theory.monoids import NATURALS, WORDS
from deltic_theory.products import (
    CompleteProduct,
    Left,
    Product,
    Right,
    Sum,
    copairing,
    first_projection,
    left_injection,
    pairing,
    right_injection,
    second_projection,
)

N = range(-3, 4)
square = Differentiable(lambda n: n * n, lambda n, dn: 2 * n * dn + dn * dn)
cube = Differentiable(lambda n: n**3, lambda n, dn: 3 * n * n * dn + 3 * n * dn * dn + dn**3)
length = Differentiable(len, lambda word, suffix: len(suffix))


@pytest.mark.law("FIX Def 2")
def test_derivatives_of_polynomials_and_length():
    check_derivative(square, Z, Z, N, N)
    check_derivative(cube, Z, Z, N, N)
    check_derivative(length, WORDS, NATURALS, words, words)
    check_derivative(identity(), WORDS, WORDS, words, words)
    check_derivative(constant(7, Z), WORDS, Z, words, words)


@pytest.mark.law("FIX Def 2")
def test_some_functions_have_no_derivative():
    """Reversal of words is not differentiable, since words only grow to the right; negation into ℤ₁ neither."""
    few = Finite(WORDS, [tuple(w) for k in range(3) for w in product("ab", repeat=k)], [(), ("a",), ("b",)])
    assert some_derivative(lambda word: word[::-1], few, few) is None
    assert some_derivative(len, few, Finite(NATURALS, range(4), range(4))) is not None
    assert some_derivative(lambda x: frozenset("ab") - x, JOIN, JOIN) is None


@pytest.mark.law("FIX Thm 3")
def test_chain_rule():
    check_derivative(compose(square, cube), Z, Z, N, N)
    check_derivative(cube.then(square).then(square), Z, Z, range(-2, 3), range(-2, 3))
    check_derivative(compose(square, length), WORDS, Z, words, words)


@pytest.mark.law("FIX Thm 3")
def test_chain_rule_for_every_pair_of_functions_on_three_points():
    complete = point_actions()[-1]
    for action in point_actions()[2:6]:
        for f, g in product(point_functions()[::4], repeat=2):
            first, then = some_derivative(f, action, complete), some_derivative(g, complete, complete)
            composite = compose(as_function(g, then), as_function(f, first))
            assert is_derivative(composite.function, composite.derivative, action, complete.action)


def as_function(function, table):
    return Differentiable(function, lambda a, d: table[a, d])


@pytest.mark.law("FIX Prop 6")
def test_complete_iff_minus_iff_every_function_into_it_is_differentiable():
    everything = point_actions()[-1]
    for action in point_actions():
        minus = {(b, a): action.change_between(a, b) for a, b in product(action.values, repeat=2)}
        has_minus = None not in minus.values()
        all_differentiable = all(some_derivative(f, everything, action) is not None for f in point_functions())
        assert action.is_complete() == has_minus == all_differentiable
    assert {action.is_complete() for action in point_actions()} == {True, False}


@pytest.mark.law("FIX Prop 7")
def test_minus_derivative():
    check_derivative(minus_derivative(abs, Z, Z), Z, Z, N, N)
    check_derivative(minus_derivative(lambda w: len(set(w)), WORDS, Z), WORDS, Z, words, words)
    sets = BOOLEAN.values
    for f in functions(sets, sets)[::17]:
        wrapped = minus_derivative(f, BOOLEAN.action, BOOLEAN.action)
        assert is_derivative(f, wrapped.derivative, BOOLEAN, BOOLEAN.action)


@pytest.mark.law("FIX footnote 7")
def test_natural_conditions():
    check_regular(square, Z, Z, N, N)
    check_regular(compose(square, cube), Z, Z, range(-2, 3), range(-2, 3))
    wasteful = Differentiable(lambda x: x, lambda x, dx: x | dx)
    check_derivative(wasteful, JOIN.action, JOIN.action, JOIN.values, JOIN.changes)
    with pytest.raises(LawViolation, match=r"f′\(a, 0\) = 0"):
        check_regular(wasteful, JOIN.action, JOIN.action, JOIN.values, JOIN.changes)


pairs, pair_changes = list(product(range(-2, 3), repeat=2)), list(product(range(-2, 3), repeat=2))
times = Partial(lambda a, b: a * b, lambda a, da, b: da * b, lambda a, b, db: a * db)


@pytest.mark.law("FIX Prop 8", "CS Limits and exponentials")
def test_products():
    plane = CompleteProduct(Z, Z)
    check_change_action(plane, pairs[::3], pair_changes[::3])
    check_complete(plane, pairs)
    check_change_action(Product(NATURALS, WORDS), [(0, ()), (2, ("a",))], [(0, ()), (1, ("b",)), (2, ("a", "b"))])
    check_derivative(first_projection(), plane, Z, pairs, pair_changes)
    check_derivative(second_projection(), plane, Z, pairs, pair_changes)
    check_derivative(pairing(square, cube), Z, plane, N, N)


@pytest.mark.law("FIX Prop 8")
def test_a_function_of_pairs_is_differentiable_iff_its_partial_applications_are():
    plane = Product(Z, Z)
    whole = total_derivative(times, Z, Z)
    check_derivative(whole, plane, Z, pairs, pair_changes)
    again = partial_derivatives(whole, Z, Z)
    for fixed in range(-2, 3):
        by_first = Differentiable(lambda a, b=fixed: a * b, lambda a, da, b=fixed: again.first(a, da, b))
        by_second = Differentiable(lambda b, a=fixed: a * b, lambda b, db, a=fixed: again.second(a, b, db))
        check_derivative(by_first, Z, Z, range(-2, 3), range(-2, 3))
        check_derivative(by_second, Z, Z, range(-2, 3), range(-2, 3))


@pytest.mark.law("FIX Prop 8")
def test_iff_on_finite_actions():
    small = [point_actions()[i] for i in (1, 2, 4)]
    tables = [dict(zip(product(range(3), repeat=2), images, strict=True)) for images in product(range(3), repeat=9)]
    for left, right, target in zip(small, small[::-1], small, strict=True):
        both = Finite(
            Product(left.action, right.action),
            list(product(left.values, right.values)),
            list(product(left.changes, right.changes)),
        )
        for table in tables[::997]:
            whole = some_derivative(table.get, both, target) is not None
            parts = all(
                some_derivative(lambda a, b=b, t=table: t[a, b], left, target) is not None for b in range(3)
            ) and all(some_derivative(lambda b, a=a, t=table: t[a, b], right, target) is not None for a in range(3))
            assert whole == parts


@pytest.mark.law("CS Products of thin and complete")
def test_products_of_thin_and_of_complete_actions():
    for left, right in product(point_actions(), repeat=2):
        both = Finite(
            Product(left.action, right.action),
            list(product(left.values, right.values)),
            list(product(left.changes, right.changes)),
        )
        assert both.is_thin() == (left.is_thin() and right.is_thin())
        assert both.is_complete() == (left.is_complete() and right.is_complete())
    assert {action.is_thin() for action in point_actions()} == {True, False}


either_values = [Left(n) for n in range(3)] + [Right(("a",) * n) for n in range(3)]
either_changes = [(n, ("b",) * k) for n, k in product(range(3), repeat=2)]


@pytest.mark.law("FIX Prop 9", "CS Limits and exponentials")
def test_disjoint_unions():
    either = Sum(NATURALS, WORDS)
    check_change_action(either, either_values, either_changes)
    check_derivative(left_injection(WORDS), NATURALS, either, range(3), range(3))
    check_derivative(right_injection(NATURALS), WORDS, either, words, words)
    check_derivative(copairing(square, length), either, Z, either_values, either_changes)
    swap = copairing(length, square)
    check_derivative(swap, Sum(WORDS, Z), Z, [Left(("a",)), Right(3)], [(("b",), 2), ((), -1)])


@pytest.mark.law("CS Uniqueness of derivatives")
def test_derivatives_into_a_thin_action_are_unique_and_conversely():
    for source, target in product(point_actions(), repeat=2):
        if target.is_thin():
            for f in point_functions()[::5]:
                assert count_derivatives(f, source, target) in (0, 1)
    for target in point_actions():
        assert (count_derivatives(lambda a: a, target, target) == 1) == target.is_thin()


def count_derivatives(function, source, target):
    """How many derivatives a function has: the product over all points of the changes that fit."""
    count = 1
    for a, d in product(source.values, source.changes):
        new, old = function(source.action.plus(a, d)), function(a)
        count *= sum(target.action.plus(old, e) == new for e in target.changes)
    return count


def test_meet_and_join_have_derivatives_under_each_other():
    """Complement turns unions into intersections: f(a ∨ x) = f(a) ∧ ¬x."""
    top = frozenset("ab")
    complement = Differentiable(lambda a: top - a, lambda a, x: top - x)
    check_derivative(complement, JOIN.action, MEET.action, JOIN.values, JOIN.changes)
