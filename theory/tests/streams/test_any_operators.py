"""The laws of causality, strictness and feedback [DBSP §3.3] for operators in general, not for some that we know.

Catches: a checker that holds for known operators alone; fixed points that are right only where operators are lifted,
linear or time-invariant.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory.tests.streams.any_operators import LENGTH, Operator, causal, operators, streams, strict

from deltic.algebra.zset import ZSet
from deltic_theory.groups import INTEGERS, Z_SETS, Pairs
from deltic_theory.law import LawViolation
from deltic_theory.streams import delay, feedback, fix, fix_together, pair
from deltic_theory.streams.brackets import impulse
from deltic_theory.streams.cutting import cut, cut_strictly
from deltic_theory.streams.iteration import iterates
from deltic_theory.streams.laws import check_causal, check_strict, check_time_invariant
from deltic_theory.streams.operators import lift, side_by_side, swap

TIMES = range(LENGTH)
randoms = st.randoms(use_true_random=False)


def is_causal_by_cutting(op, stream):
    """T(s)|≤t = T(s|≤t)|≤t at all times that we look at."""
    return all(cut(op(stream), t).prefix(LENGTH) == cut(op(cut(stream, t)), t).prefix(LENGTH) for t in TIMES)


def is_causal_by_agreeing(op, one, other):
    """That where inputs agree up to a time, outputs do."""
    agree = next((t for t in TIMES if one[t] != other[t]), LENGTH)
    return op(one).prefix(agree) == op(other).prefix(agree)


@pytest.mark.law("DBSP Def 3.8", "DBSP Lemma 3.10")
@given(causal, streams, streams)
def test_operators_that_are_causal(op, one, other):
    assert is_causal_by_agreeing(op, one, other)
    assert is_causal_by_cutting(op, one)


@pytest.mark.law("DBSP Def 3.8", "DBSP Lemma 3.10")
@given(operators(reach=2), st.lists(streams, min_size=2, max_size=6))
def test_operators_that_look_ahead_fail_both_ways_or_neither(op, found):
    """The lemma is an equivalence: on inputs closed under cutting both statements are the same."""
    closed = [cut(s, t) for s in found for t in TIMES] + found
    by_agreeing = all(is_causal_by_agreeing(op, one, cut(one, t)) for one in closed for t in TIMES)
    assert by_agreeing == all(is_causal_by_cutting(op, s) for s in closed)


@pytest.mark.law("DBSP Def 3.8", "DBSP Def 3.12")
@pytest.mark.parametrize("seed", range(3))
def test_the_checkers_tell_operators_apart_by_how_far_they_look(seed):
    check_strict(Operator(seed, reach=0), [streams])
    check_causal(Operator(seed, reach=1), [streams])
    with pytest.raises(LawViolation, match="not strict"):
        check_strict(Operator(seed, reach=1), [streams])
    with pytest.raises(LawViolation, match="not causal"):
        check_causal(Operator(seed, reach=2), [streams])


@pytest.mark.law("DBSP Def 3.12", "DBSP Def 3.13")
@given(strict, streams)
def test_operators_that_are_strict(op, stream):
    for t in TIMES:
        cutting = cut(op(cut_strictly(stream, t)), t)
        assert cut(op(stream), t).prefix(LENGTH) == cutting.prefix(LENGTH)


@pytest.mark.law("DBSP Lemma 3.15")
@given(causal, strict, streams, streams)
def test_a_causal_operator_of_a_strict_one_is_strict(t, f, s, one):
    """T(s, F(α)) is strict in α, for each s."""
    for time in TIMES:
        whole, before = t(s, f(one)), t(s, f(cut_strictly(one, time)))
        assert whole[time] == before[time]


@pytest.mark.law("DBSP Prop 3.14", "DBSP Cor 3.16")
@given(causal, strict, streams)
def test_cutting_a_fixed_point_is_the_fixed_point_of_cutting(t, f, s):
    whole = fix(lambda a: t(s, f(a)), INTEGERS)
    assert whole.prefix(LENGTH) == t(s, f(whole)).prefix(LENGTH)
    for time in TIMES:
        cutting = fix(lambda a, time=time: cut(t(s, f(a)), time), INTEGERS)
        assert cut(whole, time).prefix(LENGTH) == cutting.prefix(LENGTH)


@pytest.mark.law("DBSP Prop 3.14")
@given(strict, streams)
def test_no_other_stream_is_a_fixed_point(f, other):
    """A stream with another element is no fixed point, at the first such element."""
    solution = fix(f, INTEGERS)
    first = next((t for t in TIMES if other[t] != solution[t]), None)
    if first is not None:
        assert f(other)[first] != other[first]


@pytest.mark.law("DBSP Cor 3.17")
@given(causal, strict, streams, streams)
def test_loops_are_causal(t, f, one, other):
    loop = feedback(t, f, INTEGERS)
    assert is_causal_by_agreeing(loop, one, other)
    assert is_causal_by_cutting(loop, one)


@pytest.mark.law("DBSP Cor 3.17")
@given(operators(invariant=True), operators(reach=0, invariant=True), streams)
def test_loops_of_time_invariant_operators_are_time_invariant(t, f, stream):
    check_time_invariant(t, [[stream], [delay(stream)]])
    check_time_invariant(f, [[stream]])
    check_time_invariant(feedback(t, f, INTEGERS), [[stream]])


@pytest.mark.law("DBSP Prop 3.18")
@given(causal, causal, strict, strict, streams, streams)
def test_mutual_fixed_points(t1, t2, f1, f2, s1, s2):
    """fix of both at once, of the pair, and of the one with the other's solution in it, are the same."""
    one, two = fix_together([lambda a, b: t1(s1, f1(b)), lambda a, b: t2(s2, f2(a))], [INTEGERS, INTEGERS])
    both = fix(lambda a: side_by_side(t1, t2)(pair(s1, s2), side_by_side(f1, f2)(swap(a))), Pairs(INTEGERS, INTEGERS))
    assert list(zip(one.prefix(LENGTH), two.prefix(LENGTH), strict=True)) == both.prefix(LENGTH)
    nested = fix(lambda a: t1(s1, f1(t2(s2, f2(a)))), INTEGERS)
    assert nested.prefix(LENGTH) == one.prefix(LENGTH)


@pytest.mark.law("DBSP Prop 3.24")
@given(causal, causal, strict, streams)
def test_any_causal_operator_moves_out_of_a_loop(t, g, f, s):
    inside = fix(lambda a: g(t(s, f(a))), INTEGERS)
    rotated = g(fix(lambda b: t(s, f(g(b))), INTEGERS))
    assert inside.prefix(LENGTH) == rotated.prefix(LENGTH)


GROUPS = {
    "integers": (INTEGERS, lambda rng: rng.randint(-3, 3)),
    "Z-sets": (Z_SETS, lambda rng: ZSet({n: rng.randint(-1, 1) for n in range(3)})),
    "pairs": (Pairs(INTEGERS, Z_SETS), lambda rng: (rng.randint(-2, 2), ZSet({0: rng.randint(-1, 1)}))),
}


@pytest.mark.law("DBSP Thm 5.8")
@pytest.mark.parametrize("name", GROUPS)
@given(st.integers(0, 10**6), randoms)
def test_iteration_of_any_function(name, seed, rng):
    """The loop of the paper has the elements Q(i), Q(Q(i)), …, and `iterates` begins with i: for each Q: A → A, whether
    it keeps zero or not."""
    group, draw = GROUPS[name]
    start = draw(rng)

    def q(value):
        return draw(Random(f"{seed} {value}"))

    loop = fix(lambda o: lift(q, group)(impulse(group, start) + delay(o)), group)
    expected = [start]
    for _ in range(8):
        expected.append(q(expected[-1]))
    assert loop.prefix(8) == expected[1:]
    assert iterates(q, group, start).prefix(9) == expected
