"""The operators that circuits are made of: lifting, pairs, z⁻¹, I and D [DBSP §3.1, §3.2, §3.5].

They work at any depth of nesting. Lifting an operator makes it work inside each element of a stream of streams:
`lift(delay, …)` is ↑z⁻¹ [DBSP §5.2.2].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic_theory.groups import AbelianGroup, Pairs
from deltic_theory.streams.fixpoints import fix
from deltic_theory.streams.stream import Stream, nested_streams
from deltic_theory.variables import A, B, C, D


def lift(function: Callable[..., B], values: AbelianGroup[B]) -> Callable[..., Stream[B]]:
    """↑f: the function applied at each time, to one element of each of its streams; `values` is where f ends.

    >>> from deltic_theory.groups import INTEGERS
    >>> lift(lambda x: 2 * x, INTEGERS)(Stream(INTEGERS, lambda t: t))
    [0 2 4 6 8 …]
    """

    def lifted(*streams: Stream[Any]) -> Stream[B]:
        return Stream(values, lambda t: function(*(stream[t] for stream in streams)))

    return lifted


def lift_repeatedly(function: Callable[..., Any], values: AbelianGroup[Any], times: int) -> Callable[..., Any]:
    """↑…↑f for a function into `values`: it works on streams nested `times` deep; f itself for 0.

    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.stream import block, nested_stream
    >>> matrix = nested_stream(INTEGERS, 2, lambda t0, t1: 10 * t0 + t1)
    >>> block(lift_repeatedly(lambda x: -x, INTEGERS, 2)(matrix), 2, 2)
    [[0, -1], [-10, -11]]
    """
    if not times:
        return function
    return lift(lift_repeatedly(function, values, times - 1), nested_streams(values, times - 1))


def delay(stream: Stream[A], steps: int = 1) -> Stream[A]:
    """z⁻ᵏ: k zeros, then the stream [DBSP Def. 3.4]. Linear, time-invariant, and strict for k ≥ 1.

    >>> from deltic_theory.groups import INTEGERS
    >>> delay(Stream(INTEGERS, lambda t: t))
    [0 0 1 2 3 …]
    """
    return Stream(
        stream.values,
        lambda t: stream[t - steps] if t >= steps else stream.values.zero,
        None if stream.zero_from is None else stream.zero_from + steps,
    )


def difference(stream: Stream[A]) -> Stream[A]:
    """D(s) = s − z⁻¹(s): each element less the one before it [DBSP Def. 3.25]; the inverse of `integral`.

    >>> from deltic_theory.groups import INTEGERS
    >>> difference(Stream(INTEGERS, lambda t: t))
    [0 1 1 1 1 …]
    """
    return stream - delay(stream)


def integral(stream: Stream[A]) -> Stream[A]:
    """I(s) = fix α. s + z⁻¹(α): the running sums [DBSP Def. 3.27].

    >>> from deltic_theory.groups import INTEGERS
    >>> integral(Stream(INTEGERS, lambda t: t))
    [0 1 3 6 10 …]
    """
    return fix(lambda sums: stream + delay(sums), stream.values)


def pair(left: Stream[A], right: Stream[B]) -> Stream[tuple[A, B]]:
    """↑⟨·,·⟩: two streams as a stream of pairs.

    >>> from deltic_theory.groups import INTEGERS
    >>> times = Stream(INTEGERS, lambda t: t)
    >>> pair(times, difference(times)).prefix(3)
    [(0, 0), (1, 1), (2, 1)]
    """
    return Stream(Pairs(left.values, right.values), lambda t: (left[t], right[t]))


def first(pairs: Stream[tuple[A, B]]) -> Stream[A]:
    """↑fst: the stream of the first components of a `pair`."""
    return lift(lambda both: both[0], _components(pairs).first)(pairs)


def second(pairs: Stream[tuple[A, B]]) -> Stream[B]:
    """↑snd: the stream of the second components of a `pair`."""
    return lift(lambda both: both[1], _components(pairs).second)(pairs)


def _components(pairs: Stream[tuple[A, B]]) -> Pairs[A, B]:
    if not isinstance(pairs.values, Pairs):
        raise TypeError(f"not a stream of pairs, its values are {pairs.values}")
    return pairs.values


def fork(
    left: Callable[[Stream[A]], Stream[B]], right: Callable[[Stream[A]], Stream[C]]
) -> Callable[[Stream[A]], Stream[tuple[B, C]]]:
    """↑⟨Q, R⟩: both operators on one stream, their results paired [DBSP §3.1.2]."""
    return lambda stream: pair(left(stream), right(stream))


def side_by_side(left: Callable[..., Stream[C]], right: Callable[..., Stream[D]]) -> Callable[..., Stream[tuple[C, D]]]:
    """Q × R: one operator on the first components, the other on the second ones [DBSP §3.1.2, §3.3]."""
    return lambda *pairs: pair(left(*map(first, pairs)), right(*map(second, pairs)))


def swap(pairs: Stream[tuple[A, B]]) -> Stream[tuple[B, A]]:
    """↑swap: the components of each pair exchanged."""
    return pair(second(pairs), first(pairs))
