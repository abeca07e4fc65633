"""Streams of streams, and into them and out again [DBSP §5]: catches an operator that works on the wrong time."""

from __future__ import annotations

import pytest
from theory.tests.streams.examples import CAUSAL, ID, MATRICES, STREAMS, multiply

from deltic.algebra.zset import ZSet
from deltic_theory.group_laws import check_linear
from deltic_theory.groups import INTEGERS, Z_SETS, Pairs
from deltic_theory.law import LawViolation
from deltic_theory.streams import (
    DivergenceError,
    Stream,
    Streams,
    block,
    bracketed,
    constant,
    definite_integral,
    delay,
    difference,
    feedback,
    fix,
    impulse,
    incremental,
    integral,
    lift,
    lift_repeatedly,
    limit,
    nested_stream,
    nested_streams,
)
from deltic_theory.streams.cutting import cut, cut_strictly
from deltic_theory.streams.incremental import nested_incremental_bilinear, quadrants
from deltic_theory.streams.laws import (
    check_causal,
    check_equivalent,
    check_strict,
    check_time_invariant,
    check_zero_preserving,
    same_beginning,
)

S = Streams(INTEGERS)
SHAPE = (4, 4)
I = nested_stream(INTEGERS, 2, lambda row, column: 2 * row + column)  # noqa: E741


def up(op):
    """↑S for an operator on streams of integers."""
    return lift(op, S)


def product(a, b):
    return lift_repeatedly(lambda m, n: m * n, INTEGERS, 2)(a, b)


@pytest.mark.law("DBSP Def 5.1", "DBSP Def 5.2", "DBSP §5.1 E and X")
def test_vectors_as_printed():
    assert impulse(INTEGERS, 5).prefix(5) == [5, 0, 0, 0, 0]
    assert constant(INTEGERS, 5).prefix(5) == [5, 5, 5, 5, 5]
    assert definite_integral(cut_strictly(ID, 4)) == 6
    assert integral(cut_strictly(ID, 4)).prefix(5) == [0, 1, 3, 6, 6]
    assert definite_integral(cut(ID, 4)) == 10


@pytest.mark.law("DBSP Def 5.2", "DBSP §5.1 E and X")
@pytest.mark.parametrize("value", [0, 5, -3])
def test_out_of_a_stream_comes_what_went_in(value):
    assert definite_integral(impulse(INTEGERS, value)) == value
    assert limit(constant(INTEGERS, value)) == value
    assert bracketed(lambda s: s, INTEGERS)(value) == value


@pytest.mark.law("DBSP Def 5.2")
def test_an_integral_without_an_end_is_told():
    with pytest.raises(DivergenceError, match=r"no end before time 20: the stream is \[1 2 3 4 5 …\].* is 20"):
        definite_integral(Stream(INTEGERS, lambda t: t + 1), bound=20)
    with pytest.raises(DivergenceError, match="no end before time 0"):
        definite_integral(ID, bound=0)
    with pytest.raises(DivergenceError):
        limit(ID, bound=50, quiet=2)
    gap = Stream(INTEGERS, lambda t: {1: 4, 3: 5}.get(t, 0))
    assert [definite_integral(gap, quiet=quiet) for quiet in (1, 2)] == [0, 9]


@pytest.mark.law("DBSP Prop 5.3")
def test_x_is_the_limit():
    for end in range(1, 6):
        assert limit(Stream(INTEGERS, lambda t, end=end: min(t + 1, end))) == end
    assert limit(Stream(Z_SETS, lambda t: ZSet.of(range(min(t, 2) + 1)))) == ZSet.of([0, 1, 2])


@pytest.mark.law("DBSP Prop 5.4")
def test_brackets_are_linear_and_lifted_they_are_time_invariant():
    ends = [cut(s, t) for s in STREAMS for t in (0, 3)]
    check_linear(lambda v: impulse(INTEGERS, v), INTEGERS, S, range(-2, 3), same_beginning(4))
    check_linear(lambda v: constant(INTEGERS, v), INTEGERS, S, range(-2, 3), same_beginning(4))
    check_linear(definite_integral, S, INTEGERS, ends)
    check_linear(limit, S, INTEGERS, [constant(INTEGERS, v) for v in range(-2, 3)])
    for op in (impulse, constant):
        check_time_invariant(lift(lambda v, op=op: op(INTEGERS, v), S), [STREAMS], SHAPE)
    streams = [lift(lambda v: impulse(INTEGERS, v) + delay(impulse(INTEGERS, 2 * v)), S)(s) for s in STREAMS]
    check_time_invariant(lift(definite_integral, INTEGERS), [streams])


@pytest.mark.law("DBSP Prop 5.5")
@pytest.mark.parametrize("op", [delay, difference, lambda s: multiply(s, s), lambda s: s + delay(s, 3)])
def test_brackets_around_time_invariant_operators_preserve_zero(op):
    check_time_invariant(op, [STREAMS])
    check_zero_preserving(bracketed(op, INTEGERS), [INTEGERS], INTEGERS)


def matrix(name, stream, *rows):
    return pytest.param(stream, [list(row) for row in rows], id=name)


@pytest.mark.law("DBSP §5.2 matrices")
@pytest.mark.parametrize(
    ("stream", "printed"),
    [
        matrix("i", I, (0, 1, 2, 3), (2, 3, 4, 5), (4, 5, 6, 7), (6, 7, 8, 9)),
        matrix("↑↑(x mod 2)", lift_repeatedly(lambda x: x % 2, INTEGERS, 2)(I), *[(0, 1, 0, 1)] * 4),
        matrix("z⁻¹", delay(I), (0, 0, 0, 0), (0, 1, 2, 3), (2, 3, 4, 5), (4, 5, 6, 7)),
        matrix("↑z⁻¹", up(delay)(I), (0, 0, 1, 2), (0, 2, 3, 4), (0, 4, 5, 6), (0, 6, 7, 8)),
        matrix("↑z⁻¹ ∘ z⁻¹", up(delay)(delay(I)), (0, 0, 0, 0), (0, 0, 1, 2), (0, 2, 3, 4), (0, 4, 5, 6)),
        matrix("z⁻¹ ∘ ↑z⁻¹", delay(up(delay)(I)), (0, 0, 0, 0), (0, 0, 1, 2), (0, 2, 3, 4), (0, 4, 5, 6)),
        matrix("D", difference(I), (0, 1, 2, 3), *[(2, 2, 2, 2)] * 3),
        matrix("↑D", up(difference)(I), (0, 1, 1, 1), (2, 1, 1, 1), (4, 1, 1, 1), (6, 1, 1, 1)),
        matrix("D ∘ ↑D", difference(up(difference)(I)), (0, 1, 1, 1), *[(2, 0, 0, 0)] * 3),
        matrix("I", integral(I), (0, 1, 2, 3), (2, 4, 6, 8), (6, 9, 12, 15), (12, 16, 20, 24)),
        matrix("↑I", up(integral)(I), (0, 1, 3, 6), (2, 5, 9, 14), (4, 9, 15, 22), (6, 13, 21, 30)),
    ],
)
def test_matrices_as_printed(stream, printed):
    assert block(stream, *SHAPE) == printed


@pytest.mark.law("DBSP §5.2 matrices")
@pytest.mark.parametrize("op", [delay, integral, difference])
@pytest.mark.parametrize("inner", [delay, integral, difference])
def test_operators_on_different_times_commute(op, inner):
    check_equivalent("S ∘ ↑R = ↑R ∘ S", lambda s: op(up(inner)(s)), lambda s: up(inner)(op(s)), [MATRICES], SHAPE)


def test_three_times():
    cube = nested_stream(INTEGERS, 3, lambda a, b, c: 100 * a + 10 * b + c)
    assert lift_repeatedly(delay, nested_streams(INTEGERS, 1), 2)(cube)[2][3].prefix(3) == [0, 230, 231]
    assert lift_repeatedly(delay, nested_streams(INTEGERS, 2), 1)(cube)[2][3].prefix(3) == [220, 221, 222]
    assert delay(cube)[2][3].prefix(3) == [130, 131, 132]
    check_equivalent("D ∘ I", lambda s: difference(integral(s)), lambda s: s, [[cube]], (3, 3, 3))
    assert block(lift(up(integral), Streams(S))(cube), 2, 2, 2) == [[[0, 1], [10, 21]], [[100, 201], [110, 221]]]


@pytest.mark.law("DBSP §5.2.3 rectangles")
def test_the_rectangles_of_a_matrix():
    for s in MATRICES:
        (both, above), (left, now) = quadrants(s)
        doubly = integral(up(integral)(s))
        assert block(both + above + left + now, *SHAPE) == block(doubly, *SHAPE)
        assert block(both, *SHAPE) == block(delay(up(delay)(doubly)), *SHAPE)
        for t0 in range(4):
            for t1 in range(4):
                assert above[t0][t1] == sum(s[i][t1] for i in range(t0))
                assert left[t0][t1] == sum(s[t0][j] for j in range(t1))
        lifted_past = up(lambda row: delay(integral(row)))
        assert block(lifted_past(integral(s)), *SHAPE) == block(both + left, *SHAPE)


def nine_products(a, b):
    """Terms 1 to 7 of [DBSP §5.2.3]; in the seventh the second factor is the present alone."""
    (a_both, a_above), (a_left, a_now) = quadrants(a)
    (b_both, b_above), (b_left, b_now) = quadrants(b)
    return (
        product(a_both, b_now)
        + product(a_left, b_above)
        + product(a_left + a_now, b_now)
        + product(a_above, b_left)
        + product(a_now, b_both)
        + product(a_now, b_above + b_left)
        + product(a_above, b_now)
    )


def eleven_products(a, b):
    """The sum as printed."""
    (a_both, a_above), (a_left, a_now) = quadrants(a)
    (b_both, b_above), (b_left, b_now) = quadrants(b)
    return (
        nine_products(a, b)
        - product(a_above, b_now)
        + product(a_above, b_above)
        + product(a_both + a_above, b_now)
        + product(a_now, b_both + b_above)
        + product(a_both + a_above + a_left + a_now, b_now)
        + product(a_now, b_both + b_above + b_left + b_now)
    )


@pytest.mark.law("DBSP §5.2.3 bilinear")
def test_the_nested_expansion_of_bilinear_operators():
    inner = lift(incremental(lift(lambda m, n: m * n, INTEGERS)), S)
    two = [MATRICES, MATRICES]
    check_equivalent("(↑(↑(a × b))^Δ)^Δ", incremental(inner), nested_incremental_bilinear(product), two, SHAPE)
    check_equivalent("(↑(↑(a × b))^Δ)^Δ", incremental(inner), nine_products, two, SHAPE)
    with pytest.raises(LawViolation):
        check_equivalent("as printed", incremental(inner), eleven_products, two, SHAPE)


@pytest.mark.law("DBSP §5.2.3 bilinear")
def test_the_nested_expansion_of_a_product_that_does_not_commute():
    """Pairs (a, b) × (c, d) = (ac, ad): in none of the four products may the factors change their places."""
    pairs = Pairs(INTEGERS, INTEGERS)
    times = lambda m, n: (m[0] * n[0], m[0] * n[1])  # noqa: E731
    inner = lift(incremental(lift(times, pairs)), Streams(pairs))
    outer = nested_incremental_bilinear(lift_repeatedly(times, pairs, 2))
    a = nested_stream(pairs, 2, lambda row, column: (2 * row - column, row + 1))
    b = nested_stream(pairs, 2, lambda row, column: (row * column + 1, 3 - column))
    assert block(outer(a, b), *SHAPE) == block(incremental(inner)(a, b), *SHAPE)
    assert block(outer(a, b), *SHAPE) != block(outer(b, a), *SHAPE)


@pytest.mark.law("DBSP Prop 5.6")
def test_strict_on_nested_streams():
    for strict in (delay, up(delay), lambda s: delay(up(delay)(s))):
        check_strict(strict, [MATRICES], (3, 3))
        solution = fix(lambda a, f=strict: MATRICES[0] + f(a), S)
        assert block(solution, *SHAPE) == block(MATRICES[0] + strict(solution), *SHAPE)
    for causal in (integral, up(integral), up(difference)):
        check_causal(causal, [MATRICES], (3, 3))
        with pytest.raises(LawViolation, match="not strict"):
            check_strict(causal, [MATRICES], (3, 3))


@pytest.mark.law("DBSP Prop 5.7")
@pytest.mark.parametrize("op", CAUSAL.values(), ids=CAUSAL.keys())
def test_lifting_cycles(op):
    def t(s, a):
        return op(s + a)

    cycle = feedback(t, delay, INTEGERS)
    lifted = feedback(lift(t, S), up(delay), S)
    check_equivalent("↑(λs. fix α. T(s, z⁻¹(α))) = λs. fix α. ↑T(s, ↑z⁻¹(α))", up(cycle), lifted, [MATRICES], SHAPE)


@pytest.mark.law("DBSP Prop 5.7")
def test_lifting_the_integral_is_a_cycle_through_the_lifted_delay():
    check_equivalent("↑I", up(integral), lambda s: fix(lambda a: s + up(delay)(a), S), [MATRICES], SHAPE)
