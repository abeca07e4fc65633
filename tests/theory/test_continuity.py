"""Continuity where it is more than to be monotone: on sets of numbers, and chains of them without a greatest member.

Catches an operation of L⋈ that is monotone and forgets what comes at no finite step, a supremum of changes that keeps
what some of them no longer remove, and a limit of derivatives that is none.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltic.theory.boolean import Change, CompleteBooleanAction
from tests.theory.periodic import Chain, Numbers, PeriodicSets, ascending, below, chains_of_numbers, following, numbers

SETS = PeriodicSets()
ACTION = CompleteBooleanAction(SETS)
few = settings(max_examples=20)


def change_of(up: Numbers, down: Numbers) -> Change[Numbers]:
    return Change(SETS.without(up, down), down)


changes = st.builds(change_of, numbers, numbers)


def chain_of_changes(up: Chain, removed: Numbers, regained: Chain):
    """Changes that add more and more, and remove less and less."""
    return lambda i: change_of(up.at(i), SETS.without(removed, regained.at(i)))


chains_of_changes = st.builds(chain_of_changes, chains_of_numbers, numbers, chains_of_numbers)


def supremum_of(at):
    """The least upper bound of an ascending chain of changes, from what it is in the change order [FIX Prop. 34]."""
    return change_of(Chain(lambda i: at(i).up).supremum, Chain(lambda i: at(i).down).infimum)


def continuities(plus, compose):
    """The four equations of Def. 33, each with what it is about."""
    return {
        "⊕ in the value": lambda chain, d, at, a: (
            plus(chain.supremum, d),
            Chain(lambda i: plus(chain.at(i), d)).supremum,
        ),
        "⊕ in the change": lambda chain, d, at, a: (
            plus(a, supremum_of(at)),
            Chain(lambda i: plus(a, at(i))).supremum,
        ),
        "· in the first": lambda chain, d, at, a: (
            compose(supremum_of(at), d),
            supremum_of(lambda i: compose(at(i), d)),
        ),
        "· in the second": lambda chain, d, at, a: (
            compose(d, supremum_of(at)),
            supremum_of(lambda i: compose(d, at(i))),
        ),
    }


@pytest.mark.law("FIX Def 33", "FIX Prop 34")
@pytest.mark.parametrize("equation", continuities(ACTION.plus, ACTION.compose))
@few
@given(chains_of_numbers, changes, chains_of_changes, numbers)
def test_the_boolean_action_preserves_suprema_of_endless_chains(equation, chain, d, at, a):
    left, right = continuities(ACTION.plus, ACTION.compose)[equation](chain, d, at, a)
    assert left == right


@pytest.mark.law("FIX Prop 34")
@few
@given(chains_of_changes)
def test_suprema_of_changes_are_those_of_their_parts(at):
    """`change_supremum` of so many members is a member itself, and the supremum is above all of them."""
    members = [at(i) for i in range(12)]
    assert ACTION.change_supremum(members) == members[-1]
    assert all(ACTION.change_leq(member, supremum_of(at)) for member in members)


def endless_first(value: Numbers, change: Change[Numbers]) -> Numbers:
    """⊕, but of a set with an end only what is below 3 comes: monotone in the change, and no limit."""
    up = change.up if change.up.is_endless else SETS.meet(change.up, below(3))
    return ACTION.plus(value, change_of(up, change.down))


@pytest.mark.law("FIX Def 33")
def test_a_monotone_operation_need_not_be_continuous():
    """What no test on a finite algebra can tell: there this ⊕ would be continuous, since it is monotone."""
    every = ascending(SETS.bottom, SETS.top)
    adding = lambda i: Change(every.at(i), SETS.bottom)  # noqa: E731
    left, right = continuities(endless_first, ACTION.compose)["⊕ in the change"](every, None, adding, SETS.bottom)
    assert (left, right) == (SETS.top, below(3))


def endless(a: Numbers) -> Numbers:
    return SETS.top if a.is_endless else SETS.bottom


FUNCTIONS = {
    "a ∨ b": (SETS.join, True, True),
    "a ∧ b": (SETS.meet, True, True),
    "a ∧ (b + 1)": (lambda a, b: SETS.meet(a, following(b)), True, True),
    "(a + 1) ∨ (a ∧ b)": (lambda a, b: SETS.join(following(a), SETS.meet(a, b)), True, True),
    "⊤ where a has 2, else b": (lambda a, b: SETS.top if 2 in a else b, True, True),
    "⊤ where a is endless, else b": (lambda a, b: SETS.join(endless(a), b), False, True),
    "a where b is endless": (lambda a, b: SETS.meet(a, endless(b)), True, False),
    "⊤ where a ∧ b is endless": (lambda a, b: endless(SETS.meet(a, b)), False, False),
}
LIMITS = [ascending(*pair) for pair in [(SETS.bottom, SETS.top), (below(2), SETS.complement(below(4)))]]


def is_limit(f, *chains: Chain) -> bool:
    """Whether a function preserves the supremum of chains that go together."""
    return f(*(c.supremum for c in chains)) == Chain(lambda i: f(*(c.at(i) for c in chains))).supremum


@pytest.mark.law("FIX Prop 35")
@pytest.mark.parametrize("name", FUNCTIONS)
@few
@given(chains_of_numbers, chains_of_numbers, numbers)
def test_continuity_in_each_variable_is_continuity(name, one, other, fixed):
    """Of functions that are continuous in both, in one and in none of them, on chains without greatest members."""
    f, first, second = FUNCTIONS[name]
    constant = Chain(lambda _: fixed)
    if first:
        assert is_limit(f, one, constant)
    if second:
        assert is_limit(f, constant, other)
    if first and second:
        assert is_limit(f, one, other)


@pytest.mark.law("FIX Prop 35")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_not_continuous_in_one_variable_is_not_continuous(name):
    f, first, second = FUNCTIONS[name]
    constants = [Chain(lambda _, fixed=fixed: fixed) for fixed in (SETS.bottom, below(3), SETS.top)]
    assert first == all(is_limit(f, chain, constant) for chain in LIMITS for constant in constants)
    assert second == all(is_limit(f, constant, chain) for chain in LIMITS for constant in constants)
    jointly = all(is_limit(f, one, other) for one in [*LIMITS, *constants] for other in [*LIMITS, *constants])
    assert (first and second) == jointly


FAMILIES = {
    "a ∧ k": SETS.meet,
    "a ∨ k": SETS.join,
    "(a + 1) ∧ k": lambda a, k: SETS.meet(following(a), k),
    "(a ∧ k) ∨ (k + 1)": lambda a, k: SETS.join(SETS.meet(a, k), following(k)),
}
DERIVATIVES = {
    "set to the new value": lambda old, new: Change(new, SETS.complement(new)),
    "greatest": lambda old, new: ACTION.greatest_minus(new, old),
}


@pytest.mark.law("FIX Cor 36")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("how", DERIVATIVES)
@few
@given(chains_of_numbers, numbers, changes)
def test_suprema_of_derivatives_of_endless_chains_of_functions(family, how, chain, a, d):
    """For each chain of functions whose derivatives ascend, too."""
    f, minus = FAMILIES[family], DERIVATIVES[how]
    after = ACTION.plus(a, d)
    derivative = lambda i: minus(f(a, chain.at(i)), f(after, chain.at(i)))  # noqa: E731
    if not all(ACTION.change_leq(derivative(i), derivative(i + 1)) for i in range(12)):
        return
    before = Chain(lambda i: f(a, chain.at(i))).supremum
    assert ACTION.plus(before, supremum_of(derivative)) == Chain(lambda i: f(after, chain.at(i))).supremum


@pytest.mark.law("FIX Cor 36")
def test_a_chain_of_derivatives_that_does_not_ascend_may_have_no_derivative_for_its_limit():
    """fᵢ = 0, 1, …, i: with what each adds as its change, the last number that is removed is lost in the limit."""
    every = ascending(SETS.bottom, SETS.top)
    lost = Change(SETS.bottom, SETS.top)
    removing = lambda i: change_of(SETS.bottom, every.at(i))  # noqa: E731
    f = lambda a, k: SETS.meet(a, k)  # noqa: E731
    assert all(ACTION.plus(f(SETS.top, every.at(i)), removing(i)) == f(SETS.bottom, every.at(i)) for i in range(12))
    assert not all(ACTION.change_leq(removing(i), removing(i + 1)) for i in range(12))
    assert ACTION.plus(SETS.top, supremum_of(removing)) != ACTION.plus(SETS.top, lost)
