"""Joins of streams with relations, windows, and loops that run while a value changes [DBSP §8].

Catches a window that keeps more than it shows, and one that is moved into an integral where it may not be.
"""

from __future__ import annotations

import random

import pytest
from theory.tests.streams.examples import RELATIONS, STREAMS, compose_relations

from deltic.algebra.zset import ZSet
from deltic_theory.groups import INTEGERS, Z_SETS
from deltic_theory.law import LawViolation
from deltic_theory.streams import (
    DivergenceError,
    Stream,
    Streams,
    delay,
    difference,
    fix,
    impulse,
    incremental,
    integral,
    lift,
    limit,
    nested_streams,
)
from deltic_theory.streams.iteration import iterates, while_changing
from deltic_theory.streams.laws import (
    check_causal,
    check_equivalent,
    check_multilinear,
    check_time_invariant,
    same_beginning,
)
from deltic_theory.streams.windows import convolution, integral_in_window, relation_to_stream_join, window

# Relation-to-stream joins


def stream_join(changes, data):
    return relation_to_stream_join(compose_relations, changes, data)


@pytest.mark.law("DBSP §8.2")
def test_a_relation_to_stream_join():
    edges = Stream.of(Z_SETS, [ZSet.of([("a", "b")]), ZSet.of([("a", "c")]), ZSet({("a", "b"): -1})])
    data = Stream(Z_SETS, lambda t: ZSet.of([("x", "a")]) if t != 1 else ZSet())
    joined = relation_to_stream_join(
        lift(lambda r, s: s.join(r, lambda e: e[1], lambda e: e[0], lambda e, f: (e[0], f[1])), Z_SETS), edges, data
    )
    assert joined.prefix(4) == [ZSet.of([("x", "b")]), ZSet(), ZSet.of([("x", "c")]), ZSet.of([("x", "c")])]


@pytest.mark.law("DBSP §8.2")
def test_relation_to_stream_joins_are_causal_bilinear_and_time_invariant():
    two = [RELATIONS[:3], RELATIONS[:3]]
    check_causal(stream_join, two)
    check_time_invariant(stream_join, two)
    check_multilinear(stream_join, [Streams(Z_SETS)] * 2, Streams(Z_SETS), two, same_beginning(6))


@pytest.mark.law("DBSP §8.2")
def test_relation_to_stream_joins_are_incremental_views_of_all_matches():
    """They are the changes of I(s ⋈ D(t)) for the contents s of the relation and t of all data so far."""
    check_equivalent(
        "T = (λ s t. I(s ↑⋈ D(t)))^Δ",
        stream_join,
        incremental(lambda s, t: integral(compose_relations(s, difference(t)))),
        [RELATIONS, RELATIONS],
    )


# Windows of steps


def as_they_are(n):
    return n


@pytest.mark.law("DBSP §8.5 fixed windows", "DBSP §8.3")
def test_convolutions():
    weights = (1, -2, 0, 5)
    functions = [lambda n, w=w: w * n for w in weights]
    for stream in STREAMS:
        expected = [sum(w * stream[t - i] for i, w in enumerate(weights) if t >= i) for t in range(8)]
        assert convolution(functions, INTEGERS, stream).prefix(8) == expected
    check_equivalent(
        "Q^Δ = Q",
        incremental(lambda s: convolution(functions, INTEGERS, s)),
        lambda s: convolution(functions, INTEGERS, s),
        [STREAMS],
    )
    check_time_invariant(lambda s: convolution(functions, INTEGERS, s), [STREAMS])


@pytest.mark.law("DBSP §8.5 fixed windows", "DBSP §8.3")
@pytest.mark.parametrize("length", range(1, 5))
def test_a_sliding_sum_is_a_difference_of_integrals(length):
    check_equivalent(
        "Σᵢ z⁻ⁱ = (1 − z⁻ᵏ) ∘ I",
        lambda s: convolution([as_they_are] * length, INTEGERS, s),
        lambda s: integral(s) - delay(integral(s), length),
        [STREAMS],
    )


# Windows of timestamps

LENGTH = 3


def recent(timestamp, now):
    return timestamp >= now - LENGTH


def events(seed):
    """Signed changes of rows with timestamps 0, …, 11, some of them late and some of them early."""
    rng = random.Random(seed)
    return Stream.of(
        Z_SETS,
        [ZSet((rng.randint(max(0, t - 5), t + 2), rng.choice((-1, 1, 2))) for _ in range(3)) for t in range(12)],
    )


def clock(seed):
    rng = random.Random(seed)
    return integral(Stream(INTEGERS, lambda t: rng.choice((0, 0, 1, 1, 3))))


def shown(changes, now):
    return window(recent, integral(changes), now)


def kept(changes, now):
    return integral_in_window(recent, changes, now)


@pytest.mark.law("DBSP §8.5 time-driven windows")
def test_windows_move_into_the_integral():
    check_equivalent(
        "W(I(s), θ) = fix α. W(s + z⁻¹(α), θ)",
        shown,
        kept,
        [[events(i) for i in range(20)], [clock(i) for i in range(10)]],
        (12,),
    )
    check_causal(kept, [[events(1), events(2)], [clock(1), clock(2)]])


@pytest.mark.law("DBSP §8.5 time-driven windows")
def test_windows_of_a_clock_that_goes_back_do_not():
    back = Stream(INTEGERS, lambda t: 10 if t == 3 else 0)
    with pytest.raises(LawViolation, match="not equivalent"):
        check_equivalent(
            "W(I(s), θ) = fix α. W(s + z⁻¹(α), θ)", shown, kept, [[events(i) for i in range(5)], [back]], (12,)
        )


@pytest.mark.law("DBSP §8.5 time-driven windows")
def test_windows_keep_bounded_state_of_an_endless_stream():
    ticks = Stream(Z_SETS, lambda t: ZSet.of([(t, "a"), (t, "b")]))
    now = Stream(INTEGERS, lambda t: t)
    states = integral_in_window(lambda row, t: row[0] >= t - LENGTH, ticks, now)
    assert max(len(states[t]) for t in range(300)) == 2 * (LENGTH + 1)


# While

SUCCESSOR = {0: 1, 1: 2, 2: 2, 3: 0}


def follow(rows):
    return rows.map(SUCCESSOR.__getitem__).distinct()


def complement_of_one(rows):
    """Not monotone: it takes rows away."""
    return ZSet.of(x for x in (0, 1) if x not in rows) if len(rows) > 1 else rows


STEPS = [follow, complement_of_one, lambda rows: (rows + follow(rows)).distinct(), lambda rows: ZSet({7: 1})]
STARTS = [ZSet(), ZSet({0: 1}), ZSet({3: 1}), ZSet.of([0, 1, 3]), ZSet.of([2, 3])]


@pytest.mark.law("DBSP §8.6", "DBSP Thm 5.8")
@pytest.mark.parametrize("step", STEPS)
def test_while(step):
    for start in STARTS:
        x, changes = start, True
        while changes:
            x, changes = step(x), step(x) != x
        assert while_changing(step, Z_SETS, start) == x
    with pytest.raises(DivergenceError, match="before time 20"):
        while_changing(lambda n: 1 - n, INTEGERS, 0, bound=20)
    assert iterates(lambda n: 2 * n + 1, INTEGERS, 0).prefix(4) == [0, 1, 3, 7]


@pytest.mark.law("DBSP §8.6", "DBSP Prop 5.7")
@pytest.mark.parametrize("step", STEPS[:3])
def test_while_is_lifted_operator_by_operator(step):
    """A stream of start values, the loop lifted; the steps keep zero."""
    group = nested_streams(Z_SETS, 1)

    def lifted(starts):
        first = lift(lambda start: impulse(Z_SETS, start), group)(starts)
        loop = fix(lambda alpha: first + lift(delay, group)(lift(lift(step, Z_SETS), group)(alpha)), group)
        return lift(limit, Z_SETS)(loop)

    starts = Stream.of(Z_SETS, STARTS)
    assert lifted(starts).prefix(5) == [while_changing(step, Z_SETS, start) for start in STARTS]
    changes = difference(starts)
    assert incremental(lifted)(changes).prefix(5) == difference(lifted(starts)).prefix(5)
