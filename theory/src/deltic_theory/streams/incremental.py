"""Incremental versions of operators, and how bilinear ones are expanded [DBSP §4, §5.2.3]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic_theory.streams.operators import delay, difference, integral, lift
from deltic_theory.streams.stream import Stream
from deltic_theory.variables import A

Operator = Callable[..., Stream[Any]]


def incremental(operator: Operator) -> Operator:
    """Q^Δ = D ∘ Q ∘ I, with an I on each input [DBSP Def. 4.1].

    >>> from deltic_theory.groups import INTEGERS
    >>> squares = lift(lambda n: n * n, INTEGERS)
    >>> incremental(squares)(Stream(INTEGERS, lambda t: 1))
    [1 3 5 7 9 …]
    """
    return lambda *changes: difference(operator(*map(integral, changes)))


def integrated(operator: Operator) -> Operator:
    """I ∘ Q ∘ D, the operator whose incremental version is Q [DBSP Prop. 4.2, inversion].

    >>> from deltic_theory.groups import INTEGERS
    >>> squares = lift(lambda n: n * n, INTEGERS)
    >>> integrated(incremental(squares))(Stream(INTEGERS, lambda t: t))
    [0 1 4 9 16 …]
    """
    return lambda *streams: integral(operator(*map(difference, streams)))


def past(stream: Stream[A]) -> Stream[A]:
    """I ∘ z⁻¹: the sum of all earlier elements, the white rectangle of [DBSP §4.1] shaded.

    >>> from deltic_theory.groups import INTEGERS
    >>> past(Stream(INTEGERS, lambda t: t))
    [0 0 1 3 6 …]
    """
    return integral(delay(stream))


def incremental_bilinear(times: Operator) -> Operator:
    """(a × b)^Δ = a × b + past(a) × b + a × past(b), for a bilinear time-invariant × [DBSP Thm 4.5].

    >>> from deltic_theory.groups import INTEGERS
    >>> ones = Stream(INTEGERS, lambda t: 1)
    >>> incremental_bilinear(lift(lambda m, n: m * n, INTEGERS))(ones, ones)
    [1 3 5 7 9 …]
    """
    return lambda a, b: times(a, b) + times(past(a), b) + times(a, past(b))


def quadrants(stream: Stream[Stream[A]]) -> tuple[tuple[Stream[Stream[A]], ...], ...]:
    """Return the rectangles of [DBSP §5.2.3], by rows: what is before in both times, in t₀, in t₁, in neither.

    The four add up to I(↑I(s)).

    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.stream import nested_stream
    >>> (both, above), (left, now) = quadrants(nested_stream(INTEGERS, 2, lambda t0, t1: 1))
    >>> [quadrant[2][3] for quadrant in (both, above, left, now)]
    [6, 2, 3, 1]
    """
    left = lift(past, stream.values)(stream)
    return (past(left), past(stream)), (left, stream)


def nested_incremental_bilinear(times: Operator) -> Operator:
    """(↑(↑(a × b))^Δ)^Δ in four products, for × on nested streams, bilinear at each time [DBSP §5.2.3].

    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.operators import lift_repeatedly
    >>> from deltic_theory.streams.stream import nested_stream
    >>> ones = nested_stream(INTEGERS, 2, lambda t0, t1: 1)
    >>> product = lift_repeatedly(lambda m, n: m * n, INTEGERS, 2)
    >>> nested_incremental_bilinear(product)(ones, ones)[0]
    [1 3 5 7 9 …]
    """

    def expanded(a: Stream[Any], b: Stream[Any]) -> Stream[Any]:
        (a_both, a_above), (a_left, a_now) = quadrants(a)
        (b_both, b_above), (b_left, b_now) = quadrants(b)
        new_with_all = times(a_now, b_both + b_above + b_left + b_now)
        old_with_new = times(a_both + a_above + a_left, b_now)
        return new_with_all + old_with_new + times(a_above, b_left) + times(a_left, b_above)

    return expanded
