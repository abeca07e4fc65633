"""Joins of streams with relations, and windows over streams, of steps or of timestamps [DBSP §8.2, §8.3, §8.5]."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from deltic.algebra.zset import ZSet
from deltic_theory.groups import Z_SETS, AbelianGroup, total
from deltic_theory.streams.fixpoints import fix
from deltic_theory.streams.operators import delay, integral, lift
from deltic_theory.streams.stream import Stream
from deltic_theory.variables import A, B

T = TypeVar("T", bound=Hashable)


def relation_to_stream_join(
    times: Callable[[Stream[Any], Stream[Any]], Stream[B]], changes: Stream[Any], data: Stream[Any]
) -> Stream[B]:
    """I(s) × t: data that is matched with what a relation is at its time, and then forgotten [DBSP §8.2].

    `changes` are those of the relation. Linear in each stream, and time-invariant; it keeps the relation alone.

    >>> from deltic_theory.groups import INTEGERS
    >>> ones = Stream(INTEGERS, lambda t: 1)
    >>> relation_to_stream_join(lift(lambda m, n: m * n, INTEGERS), ones, Stream.of(INTEGERS, [10, 0, 20]))
    [10 0 60 0 0 …]
    """
    return times(integral(changes), data)


def convolution(functions: Sequence[Callable[[A], B]], values: AbelianGroup[B], stream: Stream[A]) -> Stream[B]:
    """Σᵢ ↑Tᵢ(z⁻ⁱ(s)): an aggregate of the last elements, the newest first, a convolution filter [DBSP §8.5].

    Where the Tᵢ are linear the operator is linear and time-invariant, and so its own incremental version.

    >>> from deltic_theory.groups import INTEGERS
    >>> convolution([lambda n: n] * 3, INTEGERS, Stream(INTEGERS, lambda t: t))
    [0 1 3 6 9 …]
    """
    delayed = [lift(function, values)(delay(stream, steps)) for steps, function in enumerate(functions)]
    return Stream(values, lambda t: total(values, (s[t] for s in delayed)))


def window(within: Callable[[T, B], object], values: Stream[ZSet[T]], clock: Stream[B]) -> Stream[ZSet[T]]:
    """W(v, θ): the part of each Z-set whose values are `within` the window of their time θ[t] [DBSP §8.5].

    >>> from deltic_theory.groups import INTEGERS
    >>> clock = Stream(INTEGERS, lambda t: t)
    >>> window(lambda ts, now: ts >= now - 1, Stream(Z_SETS, lambda t: ZSet.of(range(4))), clock).prefix(3)[2]
    ZSet({1: 1, 2: 1, 3: 1})
    """
    return lift(lambda rows, now: rows.filter(lambda value: within(value, now)), Z_SETS)(values, clock)


def integral_in_window(within: Callable[[T, B], object], changes: Stream[ZSet[T]], clock: Stream[B]) -> Stream[ZSet[T]]:
    """fix α. W(s + z⁻¹(α), θ): what W(I(s), θ) is, with W moved inside of the integration [DBSP §8.5].

    It keeps the window alone. They are equal where a value that once left the window never comes back into it, as
    with a clock that never goes back.

    >>> from deltic_theory.groups import INTEGERS
    >>> clock = Stream(INTEGERS, lambda t: t)
    >>> ticks = Stream(Z_SETS, lambda t: ZSet({t: 1}))
    >>> integral_in_window(lambda ts, now: ts >= now - 1, ticks, clock)[100]
    ZSet({99: 1, 100: 1})
    """
    return fix(lambda alpha: window(within, changes + delay(alpha), clock), Z_SETS)
