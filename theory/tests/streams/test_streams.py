"""Streams and operators on them [DBSP §3]: catches an operator that is off by one step, looks ahead, or loops."""

from __future__ import annotations

import operator

import pytest
from theory.tests.streams.examples import (
    CAUSAL,
    ID,
    LINEAR,
    RELATIONS,
    STREAMS,
    STRICT,
    compose_relations,
    multiply,
    square,
)

from deltic_theory.group_laws import check_group, check_linear
from deltic_theory.groups import INTEGERS, Z_SETS, Pairs
from deltic_theory.law import LawViolation
from deltic_theory.streams import (
    NotStrictError,
    Stream,
    Streams,
    delay,
    difference,
    feedback,
    fix,
    fix_together,
    impulse,
    integral,
    lift,
    pair,
)
from deltic_theory.streams.cutting import cut, cut_strictly
from deltic_theory.streams.laws import (
    check_causal,
    check_equivalent,
    check_multilinear,
    check_strict,
    check_time_invariant,
    check_zero_preserving,
    same_beginning,
)
from deltic_theory.streams.operators import first, fork, second, side_by_side, swap

S = Streams(INTEGERS)


def of(table):
    return pytest.mark.parametrize("op", table.values(), ids=table.keys())


def ahead(stream):
    return Stream(stream.values, lambda t: stream[t + 1])


@pytest.mark.law("DBSP Def 3.1", "DBSP Def 3.2", "DBSP Def 3.4", "DBSP Def 3.9", "DBSP Def 3.25", "DBSP Def 3.27")
@pytest.mark.parametrize(
    ("stream", "printed"),
    [
        (ID, [0, 1, 2, 3, 4]),
        (lift(lambda x: 2 * x, INTEGERS)(ID), [0, 2, 4, 6, 8]),
        (pair(ID, ID), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]),
        (delay(ID), [0, 0, 1, 2, 3]),
        (cut(ID, 2), [0, 1, 2, 0, 0]),
        (difference(ID), [0, 1, 1, 1, 1]),
        (integral(ID), [0, 1, 3, 6, 10]),
    ],
)
def test_vectors_as_printed(stream, printed):
    assert stream.prefix(5) == printed


def test_there_is_no_time_before_zero():
    with pytest.raises(IndexError, match="no time -1"):
        ID[-1]


def test_elements_are_computed_once_and_in_order():
    seen = []
    stream = Stream(INTEGERS, lambda t: seen.append(t) or t)
    assert (stream[3], stream[1], stream.prefix(4)) == (3, 1, [0, 1, 2, 3])
    assert seen == [0, 1, 2, 3]


@pytest.mark.law("DBSP Prop 3.3")
def test_lifting_distributes_over_composition():
    def f(x):
        return x * x

    def g(x):
        return x + 3

    both = lift(lambda x: f(g(x)), INTEGERS)
    check_equivalent("↑(f ∘ g) = ↑f ∘ ↑g", both, lambda s: lift(f, INTEGERS)(lift(g, INTEGERS)(s)), [STREAMS])


@pytest.mark.law("DBSP §3.1.2 pairs")
def test_pairs_and_projections():
    pairs = [pair(s, t) for s in STREAMS[2:5] for t in STREAMS[2:5]]
    two = [STREAMS, STREAMS]
    check_equivalent("fst⟨s, t⟩ = s", lambda s, t: first(pair(s, t)), lambda s, t: s, two)
    check_equivalent("snd⟨s, t⟩ = t", lambda s, t: second(pair(s, t)), lambda s, t: t, two)
    check_equivalent("⟨fst p, snd p⟩ = p", lambda p: pair(first(p), second(p)), lambda p: p, [pairs])
    check_equivalent("fst ∘ ⟨Q, R⟩ = Q", lambda s: first(fork(square, delay)(s)), square, [STREAMS])
    check_equivalent("snd ∘ ⟨Q, R⟩ = R", lambda s: second(fork(square, delay)(s)), delay, [STREAMS])
    check_equivalent("Q × R", side_by_side(square, delay), lambda p: pair(square(first(p)), delay(second(p))), [pairs])
    check_equivalent("swap ∘ swap = id", lambda p: swap(swap(p)), lambda p: p, [pairs])
    with pytest.raises(TypeError, match="not a stream of pairs"):
        first(ID)


@pytest.mark.law("DBSP Def 3.5")
@of(CAUSAL)
def test_time_invariant(op):
    check_time_invariant(op, [STREAMS])


def test_not_time_invariant():
    for wrong in (lift(lambda x: 1, INTEGERS), lambda s: cut(s, 2)):
        with pytest.raises(LawViolation, match="not time-invariant"):
            check_time_invariant(wrong, [STREAMS])


@pytest.mark.law("DBSP Def 3.6", "DBSP Prop 3.7")
@pytest.mark.parametrize("f", [lambda x: x * x, lambda x: -x, lambda x: 1, lambda x: x + 2, abs])
def test_lifted_is_time_invariant_iff_zero_is_preserved(f):
    if f(0):
        with pytest.raises(LawViolation, match="zero is not preserved"):
            check_zero_preserving(f, [INTEGERS], INTEGERS)
        with pytest.raises(LawViolation, match="not time-invariant"):
            check_time_invariant(lift(f, INTEGERS), [STREAMS])
    else:
        check_zero_preserving(f, [INTEGERS], INTEGERS)
        check_time_invariant(lift(f, INTEGERS), [STREAMS])


@pytest.mark.law("DBSP Def 3.8", "DBSP Lemma 3.10")
@of(CAUSAL)
def test_causal(op):
    check_causal(op, [STREAMS])
    for t in range(5):
        by_cutting = "T(s)|≤t = T(s|≤t)|≤t"
        check_equivalent(by_cutting, lambda s, t=t: cut(op(s), t), lambda s, t=t: cut(op(cut(s, t)), t), [STREAMS])


@pytest.mark.law("DBSP Def 3.8", "DBSP Lemma 3.10")
def test_not_causal():
    with pytest.raises(LawViolation, match="not causal"):
        check_causal(ahead, [STREAMS])
    with pytest.raises(LawViolation, match="not equivalent"):
        check_equivalent("by cutting", lambda s: cut(ahead(s), 2), lambda s: cut(ahead(cut(s, 2)), 2), [STREAMS])


@pytest.mark.law("DBSP Def 3.9", "DBSP Def 3.13")
def test_cutting_is_commutative_and_idempotent():
    for t in range(4):
        check_equivalent("s|<t+1 = s|≤t", lambda s, t=t: cut_strictly(s, t + 1), lambda s, t=t: cut(s, t), [STREAMS])
        for u in range(4):
            check_equivalent(
                "s|≤t|≤u = s|≤min(t, u)",
                lambda s, t=t, u=u: cut(cut(s, t), u),
                lambda s, t=t, u=u: cut(s, min(t, u)),
                [STREAMS],
            )
    assert cut_strictly(ID, 0).prefix(4) == [0, 0, 0, 0]


@pytest.mark.law("DBSP Def 3.11")
def test_streams_know_where_they_end_as_far_as_it_is_known():
    end = Stream.of(INTEGERS, [1, 2])
    ends = [end, delay(end), difference(end), -end, end + cut(ID, 4), cut_strictly(ID, 3), cut(end, 7)]
    assert [s.zero_from for s in ends] == [2, 3, 3, 2, 5, 3, 2]
    assert all(s[t] == 0 for s in ends for t in range(s.zero_from, 9))
    assert [s.zero_from for s in (ID, integral(end), end + ID)] == [None, None, None]


@pytest.mark.law("DBSP Def 3.12", "DBSP Def 3.13")
@of(STRICT)
def test_strict(op):
    check_strict(op, [STREAMS])
    for t in range(5):
        by_cutting = "F(s)|≤t = F(s|<t)|≤t"
        check_equivalent(
            by_cutting, lambda s, t=t: cut(op(s), t), lambda s, t=t: cut(op(cut_strictly(s, t)), t), [STREAMS]
        )


@of({name: op for name, op in CAUSAL.items() if name not in STRICT})
def test_not_strict(op):
    with pytest.raises(LawViolation, match="not strict"):
        check_strict(op, [STREAMS])


def by_recurrence(op, length):
    """α[t] = F(α|<t)[t], as in the proof of [DBSP Prop. 3.14]."""
    elements = []
    for t in range(length):
        elements.append(op(Stream.of(INTEGERS, elements))[t])
    return elements


@pytest.mark.law("DBSP Prop 3.14")
@of(STRICT)
def test_strict_operators_have_one_fixed_point(op):
    for stream in STREAMS:
        solution = fix(lambda a, stream=stream: stream + op(a), INTEGERS)
        elements = solution.prefix(6)
        assert elements == (stream + op(solution)).prefix(6) == by_recurrence(lambda a, s=stream: s + op(a), 6)
        for t in range(6):
            other = Stream.of(INTEGERS, [*elements[:t], elements[t] + 1])
            assert (stream + op(other))[t] != other[t]


def test_a_cycle_without_a_delay_is_told():
    with pytest.raises(NotStrictError, match="the element at time 0 is defined by itself"):
        fix(lambda a: STREAMS[2] + square(a), INTEGERS)[3]
    late = fix(lambda a: ID + Stream(INTEGERS, lambda t: a[max(t, 2)] if t > 1 else 0), INTEGERS)
    assert late.prefix(2) == [0, 1]
    with pytest.raises(NotStrictError, match="time 2"):
        late[2]


@pytest.mark.law("DBSP Lemma 3.15", "DBSP Cor 3.16", "DBSP Cor 3.17")
@of(STRICT)
def test_feedback(op):
    def t(s, a):
        return multiply(s, s) + multiply(a, s) - a

    for stream in STREAMS:
        check_strict(lambda a, s=stream: t(s, op(a)), [STREAMS])
        for time in range(4):
            whole = fix(lambda a, s=stream: t(s, op(a)), INTEGERS)
            cutting = fix(lambda a, s=stream, time=time: cut(t(s, op(a)), time), INTEGERS)
            assert cut(whole, time).prefix(6) == cutting.prefix(6)
    loop = feedback(t, op, INTEGERS)
    check_causal(loop, [STREAMS])
    check_time_invariant(loop, [STREAMS])


@pytest.mark.law("DBSP Prop 3.18")
def test_mutual_fixed_points_are_those_of_the_pair():
    def t1(s, a):
        return s + multiply(s, a)

    def t2(s, a):
        return s - a

    strict = side_by_side(delay, lambda s: delay(s, 2))
    pairs = [pair(s, t) for s in STREAMS[2:5] for t in STREAMS[2:5]]
    check_causal(side_by_side(t1, t2), [pairs, pairs], (4,))
    check_strict(lambda p: strict(swap(p)), [pairs])
    for s1 in STREAMS:
        for s2 in STREAMS:
            a1, a2 = fix_together(
                [lambda a, b, s=s1: t1(s, delay(b)), lambda a, b, s=s2: t2(s, delay(a, 2))], [INTEGERS, INTEGERS]
            )
            both = fix(
                lambda a, s1=s1, s2=s2: side_by_side(t1, t2)(pair(s1, s2), strict(swap(a))), Pairs(INTEGERS, INTEGERS)
            )
            assert list(zip(a1.prefix(6), a2.prefix(6), strict=True)) == both.prefix(6)


@pytest.mark.law("DBSP Prop 3.19")
def test_streams_are_a_group_and_lifting_keeps_homomorphisms():
    check_group(S, STREAMS, same_beginning(6))
    check_group(Streams(Z_SETS), RELATIONS, same_beginning(6))
    check_linear(lift(lambda x: 3 * x, INTEGERS), S, S, STREAMS, same_beginning(6))


@pytest.mark.law("DBSP Def 3.20", "DBSP Prop 3.26", "DBSP Prop 3.29")
@of(LINEAR)
def test_linear_time_invariant(op):
    check_linear(op, S, S, STREAMS, same_beginning(6))
    check_time_invariant(op, [STREAMS])
    check_causal(op, [STREAMS])


@pytest.mark.law("DBSP Def 3.21", "DBSP Prop 3.22")
def test_bilinear():
    two = [STREAMS, STREAMS]
    check_multilinear(multiply, [S, S], S, two, same_beginning(5))
    check_multilinear(compose_relations, [Streams(Z_SETS)] * 2, Streams(Z_SETS), [RELATIONS] * 2, same_beginning(5))
    for linear in LINEAR.values():
        check_multilinear(lambda a, b, f=linear: f(multiply(a, b)), [S, S], S, two, same_beginning(5))
    check_time_invariant(multiply, two)
    with pytest.raises(LawViolation, match=r"f\(a0 \+ b, a1\)"):
        check_multilinear(operator.add, [S, S], S, two, same_beginning(5))


@pytest.mark.law("DBSP Prop 3.23")
@of(LINEAR)
def test_loops_of_linear_operators_are_linear(op):
    loop = feedback(lambda s, a: op(s + a), delay, INTEGERS)
    check_linear(loop, S, S, STREAMS, same_beginning(6))
    check_time_invariant(loop, [STREAMS])


@pytest.mark.law("DBSP Prop 3.24")
@of(CAUSAL)
def test_a_causal_operator_moves_out_of_a_loop(op):
    def t(s, a):
        return s + multiply(s, a)

    inside = feedback(lambda s, a: op(t(s, a)), delay, INTEGERS)
    rotated = feedback(t, lambda b: delay(op(b)), INTEGERS)
    check_equivalent("fix α. G(T(s, F(α))) = G(fix β. T(s, F(G(β))))", inside, lambda s: op(rotated(s)), [STREAMS])


@pytest.mark.law("DBSP Prop 3.28")
def test_the_integral_is_the_sum_so_far():
    for stream in STREAMS:
        assert integral(stream).prefix(6) == [sum(stream.prefix(t + 1)) for t in range(6)]


@pytest.mark.law("DBSP Thm 3.30")
@pytest.mark.parametrize("streams", [STREAMS, RELATIONS])
def test_integral_and_difference_are_inverse(streams):
    check_equivalent("D ∘ I = id", lambda s: difference(integral(s)), lambda s: s, [streams])
    check_equivalent("I ∘ D = id", lambda s: integral(difference(s)), lambda s: s, [streams])
    for op in (integral, difference):
        check_equivalent(
            "of pairs", lambda s, t, f=op: f(pair(s, t)), lambda s, t, f=op: pair(f(s), f(t)), [streams] * 2
        )


def test_long_streams_need_no_deep_recursion():
    assert integral(impulse(INTEGERS, 1))[50_000] == 1
