"""Continuity where it is more than to be monotone: on sets of numbers, and chains of them without a greatest member.

Catches an operation of L⋈ that is monotone and forgets what comes at no finite step, a supremum of changes that keeps
what some of them no longer remove, and a limit of derivatives that is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from theory.tests.periodic import Chain, Numbers, PeriodicSets, ascending, below, chains_of_numbers, following, numbers

from deltic_theory.boolean import Change, CompleteBooleanAction

SETS = PeriodicSets()
EVENS = Numbers((), (True, False))
ACTION = CompleteBooleanAction(SETS)
few = settings(max_examples=20)
randoms = st.randoms(use_true_random=False)


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
    """Monotone, and not continuous."""
    return SETS.top if a.is_endless else SETS.bottom


BINARY = {"∨": SETS.join, "∧": SETS.meet}
UNARY = {
    "+1": following,
    "endless": endless,
    "⊤ where it has 2": lambda a: SETS.top if 2 in a else SETS.bottom,
    "evens": lambda a: SETS.meet(a, EVENS),
}
CONTINUOUS = [name for name in UNARY if name != "endless"]


def random_function(rng: Random, depth: int, unary: Sequence[str]):
    """A monotone function of two sets, made of ∨, ∧ and these functions of one."""
    if not depth:
        name = rng.choice(["a", "b"])
        return (lambda a, b: a) if name == "a" else (lambda a, b: b)
    one, other = (random_function(rng, rng.randrange(depth), unary) for _ in range(2))
    name = rng.choice([*BINARY, *unary])
    if name in BINARY:
        return lambda a, b: BINARY[name](one(a, b), other(a, b))
    return lambda a, b: UNARY[name](one(a, b))


def is_limit(f, *chains: Chain) -> bool:
    """Whether a function preserves the supremum of chains that go together."""
    return f(*(c.supremum for c in chains)) == Chain(lambda i: f(*(c.at(i) for c in chains))).supremum


def random_numbers(rng: Random) -> Numbers:
    return Numbers(
        tuple(rng.choices((False, True), k=rng.randrange(4))), rng.choice([(False,), (True,), (False, True)])
    )


def random_chain(rng: Random) -> Chain:
    """One that ascends, often without end; now and then it stays where it is."""
    low, high = random_numbers(rng), random_numbers(rng)
    return Chain(lambda _: low) if rng.random() < 0.2 else ascending(low, high)


def separately_and_jointly(rng: Random) -> tuple[bool, bool]:
    """Whether a random function preserves the suprema of random chains, one variable at a time, and both at once."""
    f, one, other = random_function(rng, 3, list(UNARY)), random_chain(rng), random_chain(rng)
    first = is_limit(lambda a: f(a, other.supremum), one)
    return first and all(is_limit(partial(f, a), other) for a in one.members), is_limit(f, one, other)


@pytest.mark.law("FIX Prop 35")
def test_continuity_in_each_variable_is_continuity():
    """Of random monotone functions at random chains: where f(·, ⋁ bⱼ) preserves ⋁ aᵢ, and each f(aᵢ, ·) preserves ⋁ bⱼ,
    f preserves the supremum of the pairs; where it does not, one of these does not either."""
    found = Counter(separately_and_jointly(Random(seed)) for seed in range(120))
    assert not found[True, False]
    assert found[True, True] > 30
    assert found[False, False] > 8


@pytest.mark.law("FIX Def 33")
@given(randoms)
def test_what_is_made_of_continuous_functions_is_continuous(rng):
    """The parts of the random functions but one preserve suprema in both variables; so does what is made of them."""
    assert is_limit(random_function(rng, 3, CONTINUOUS), random_chain(rng), random_chain(rng))


@pytest.mark.law("FIX Cor 36")
@given(randoms)
def test_suprema_of_derivatives_of_endless_chains_of_functions(rng):
    """fₖ = f(·, k) for random continuous f and random chains of k, with random derivatives that ascend with k.

    What a derivative adds is between new ∖ old and new, and what it removes between old ∖ new and all but new
    [FIX Thm 18]; within that it is drawn.
    """
    f, chain = random_function(rng, 3, CONTINUOUS), random_chain(rng)
    a, d = random_numbers(rng), change_of(random_numbers(rng), random_numbers(rng))
    after, first = ACTION.plus(a, d), f(a, chain.at(0))
    last = Chain(lambda i: f(a, chain.at(i))).supremum
    adding, removing = SETS.join(SETS.complement(first), random_numbers(rng)), SETS.join(last, random_numbers(rng))

    def derivative(i: int) -> Change[Numbers]:
        new = f(after, chain.at(i))
        return Change(SETS.meet(new, adding), SETS.without(removing, new))

    for i in range(8):
        assert ACTION.plus(f(a, chain.at(i)), derivative(i)) == f(after, chain.at(i))
        assert ACTION.change_leq(derivative(i), derivative(i + 1))
    assert ACTION.plus(last, supremum_of(derivative)) == f(after, chain.supremum)


@pytest.mark.law("FIX Cor 36")
@given(randoms)
def test_suprema_of_derivatives_that_remove_less_and_less(rng):
    """f₀ ≤ f₁ ≤ … ascend, and what their derivatives remove descends, without an end: the supremum removes the infimum.

    Catches a supremum of changes that removes what some of them remove, or what the first one does.
    """
    chain = random_chain(rng)
    kept = random_numbers(rng)
    every = lambda i: SETS.join(kept, chain.at(i))  # noqa: E731
    f = lambda a, i: SETS.meet(a, every(i))  # noqa: E731
    a, d = random_numbers(rng), change_of(random_numbers(rng), random_numbers(rng))
    after = ACTION.plus(a, d)

    def derivative(i: int) -> Change[Numbers]:
        return change_of(f(after, i), SETS.complement(f(after, i)))

    removed = Chain(lambda i: derivative(i).down)
    assert all(SETS.without(removed.at(i + 1), removed.at(i)) == SETS.bottom for i in range(8))
    for i in range(8):
        assert ACTION.plus(f(a, i), derivative(i)) == f(after, i)
        assert ACTION.change_leq(derivative(i), derivative(i + 1))
    limit = SETS.join(kept, chain.supremum)
    found = supremum_of(derivative)
    members = [derivative(i) for i in range(12)]
    assert ACTION.change_supremum(members) == members[-1]
    assert found.down == removed.infimum
    assert ACTION.plus(SETS.meet(a, limit), found) == SETS.meet(after, limit)


@pytest.mark.law("FIX Cor 36")
@given(randoms)
def test_infima_of_derivatives_of_descending_chains_of_functions(rng):
    """The dual: f₀ ≥ f₁ ≥ … with derivatives that add less and remove more, without an end, tend to one of the infimum.

    Complements turn L, and its chains, upside down.
    """
    f, chain = random_function(rng, 3, CONTINUOUS), random_chain(rng)
    a, d = random_numbers(rng), change_of(random_numbers(rng), random_numbers(rng))
    after = ACTION.plus(a, d)
    down = lambda value, i: SETS.complement(f(value, chain.at(i)))  # noqa: E731

    def derivative(i: int) -> Change[Numbers]:
        return change_of(down(after, i), SETS.complement(down(after, i)))

    for i in range(8):
        assert ACTION.plus(down(a, i), derivative(i)) == down(after, i)
        assert ACTION.change_leq(derivative(i + 1), derivative(i))
    assert ACTION.change_supremum([derivative(i) for i in range(8)]) == derivative(0)
    up, gone = Chain(lambda i: derivative(i).up).infimum, Chain(lambda i: derivative(i).down).supremum
    least, wanted = (Chain(lambda i, v=v: down(v, i)).infimum for v in (a, after))
    assert wanted == SETS.complement(f(after, chain.supremum))
    assert ACTION.plus(least, change_of(up, gone)) == wanted


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
