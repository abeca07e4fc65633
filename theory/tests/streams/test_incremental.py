"""Incremental versions [DBSP §4]: catches a rule that holds for one operator and fails for another."""

from __future__ import annotations

import operator

import pytest
from theory.tests.streams.examples import (
    CAUSAL,
    LINEAR,
    RELATIONS,
    STREAMS,
    compose_relations,
    multiply,
    square,
)

from deltic_theory.groups import INTEGERS
from deltic_theory.streams import Stream, delay, difference, feedback, fix, incremental, integral, lift
from deltic_theory.streams.incremental import incremental_bilinear, integrated, past
from deltic_theory.streams.laws import check_causal, check_equivalent

TWO = [STREAMS, STREAMS]


def of(table):
    return pytest.mark.parametrize("op", table.values(), ids=table.keys())


@pytest.mark.law("DBSP Def 4.1")
@of(CAUSAL)
def test_the_incremental_version_maps_changes_to_changes(op):
    check_equivalent("Q^Δ", incremental(op), lambda ds: difference(op(integral(ds))), [STREAMS])
    for stream in STREAMS:
        assert integral(incremental(op)(difference(stream))).prefix(6) == op(stream).prefix(6)


@pytest.mark.law("DBSP Prop 4.2")
@of(CAUSAL)
def test_inversion_and_push_pull(op):
    check_equivalent("I ∘ Q^Δ ∘ D = Q", integrated(incremental(op)), op, [STREAMS])
    check_equivalent("(I ∘ Q ∘ D)^Δ = Q", incremental(integrated(op)), op, [STREAMS])
    pushed = incremental(op)
    check_equivalent("Q ∘ I = I ∘ Q^Δ", lambda s: op(integral(s)), lambda s: integral(pushed(s)), [STREAMS])
    check_equivalent("D ∘ Q = Q^Δ ∘ D", lambda s: difference(op(s)), lambda s: pushed(difference(s)), [STREAMS])


@pytest.mark.law("DBSP Prop 4.2")
@of({"-": operator.neg, "z⁻¹": delay, "I": integral, "D": difference})
def test_invariance(op):
    check_equivalent("Q^Δ = Q", incremental(op), op, [STREAMS])


@pytest.mark.law("DBSP Prop 4.2")
def test_invariance_of_addition():
    check_equivalent("+^Δ = +", incremental(operator.add), operator.add, TWO)


@pytest.mark.law("DBSP Prop 4.2")
@pytest.mark.parametrize("outer", CAUSAL.values(), ids=CAUSAL.keys())
@of(CAUSAL)
def test_chain_and_add(op, outer):
    chained = incremental(lambda s: outer(op(s)))
    check_equivalent("(Q ∘ R)^Δ = Q^Δ ∘ R^Δ", chained, lambda s: incremental(outer)(incremental(op)(s)), [STREAMS])
    added = incremental(lambda s: outer(s) + op(s))
    check_equivalent("(Q + R)^Δ = Q^Δ + R^Δ", added, lambda s: incremental(outer)(s) + incremental(op)(s), [STREAMS])


@pytest.mark.law("DBSP Prop 4.2")
def test_chain_of_a_binary_operator():
    whole = incremental(lambda s, t: multiply(square(s), integral(t)))
    parts = incremental(multiply)
    check_equivalent("chain", whole, lambda s, t: parts(incremental(square)(s), incremental(integral)(t)), TWO)


def loops():
    yield "s + a", operator.add
    yield "s × a + s", lambda s, a: multiply(s, a) + s
    yield "square(s + a)", lambda s, a: lift(lambda n: n * n % 7, INTEGERS)(s + a)


@pytest.mark.law("DBSP Prop 4.2", "DBSP Lemma 4.3")
@of(dict(loops()))
def test_cycle(op):
    check_causal(incremental(op), TWO)
    cycle = feedback(op, delay, INTEGERS)
    check_equivalent(
        "(λs. fix α. T(s, z⁻¹(α)))^Δ = λs. fix α. T^Δ(s, z⁻¹(α))",
        incremental(cycle),
        feedback(incremental(op), delay, INTEGERS),
        [STREAMS],
    )
    for a in STREAMS:
        alpha = fix(lambda x, a=a: op(a, delay(x)), INTEGERS)
        beta = fix(lambda x, a=a: incremental(op)(difference(a), delay(x)), INTEGERS)
        assert alpha.prefix(6) == integral(beta).prefix(6)


@pytest.mark.law("DBSP Thm 4.4")
@of(LINEAR)
def test_linear_operators_are_their_own_incremental_versions(op):
    check_equivalent("Q^Δ = Q", incremental(op), op, [STREAMS])


@pytest.mark.law("DBSP Thm 4.5")
@pytest.mark.parametrize(("times", "streams"), [(multiply, STREAMS), (compose_relations, RELATIONS)])
def test_bilinear_operators(times, streams):
    check_equivalent("(a × b)^Δ", incremental(times), incremental_bilinear(times), [streams, streams])


@pytest.mark.law("DBSP §4.1 vectors")
def test_vectors():
    """White is left out, grey is taken: the past, the present, or both."""
    f = lift(lambda n: 3 * n, INTEGERS)
    check_equivalent("past", past, lambda s: delay(integral(s)), [STREAMS])
    check_equivalent("past and present", lambda s: past(s) + s, integral, [STREAMS])
    check_equivalent(
        "f(■■) − f(■□) = f^Δ", lambda s: square(integral(s)) - square(past(s)), incremental(square), [STREAMS]
    )
    check_equivalent("f(■■) − f(■□) = f(□■)", lambda s: f(integral(s)) - f(past(s)), f, [STREAMS])
    check_equivalent(
        "■■ × ■■ = four products",
        lambda a, b: multiply(integral(a), integral(b)),
        lambda a, b: multiply(past(a), past(b)) + multiply(past(a), b) + multiply(a, past(b)) + multiply(a, b),
        TWO,
    )
    check_equivalent(
        "■■ × ■■ − ■□ × ■□ = three products",
        lambda a, b: multiply(integral(a), integral(b)) - multiply(past(a), past(b)),
        incremental_bilinear(multiply),
        TWO,
    )


def test_the_zero_stream_is_its_own_change():
    assert incremental(square)(Stream.of(INTEGERS, [])).prefix(3) == [0, 0, 0]
