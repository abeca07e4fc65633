"""Cutting: streams that are zero after a time; the tool by which causality and strictness are stated [DBSP §3.3].

A time is a number, or for streams nested n deep a tuple of n numbers, ordered componentwise [DBSP §5.2.4].
"""

from __future__ import annotations

from typing import Any, TypeAlias

from deltic_theory.streams.stream import Stream

Time: TypeAlias = int | tuple[int, ...]


def cut(stream: Stream[Any], time: Time) -> Stream[Any]:
    """s|≤t: the elements at times i ≤ t, zero elsewhere [DBSP Def. 3.9].

    >>> from deltic_theory.groups import INTEGERS
    >>> cut(Stream(INTEGERS, lambda t: t), 2)
    [0 1 2 0 0 …]
    """
    first, rest = _split(time)
    if not rest:
        return Stream(stream.values, lambda i: stream[i], _end(stream, first + 1))
    return Stream(stream.values, lambda i: cut(stream[i], rest), _end(stream, first + 1))


def cut_strictly(stream: Stream[Any], time: Time) -> Stream[Any]:
    """s|<t: the elements at times i < t, zero elsewhere [DBSP Def. 3.13].

    >>> from deltic_theory.groups import INTEGERS
    >>> cut_strictly(Stream(INTEGERS, lambda t: t + 1), 2)
    [1 2 0 0 0 …]
    """
    first, rest = _split(time)
    if not rest:
        return Stream(stream.values, lambda i: stream[i], _end(stream, first))
    return Stream(
        stream.values,
        lambda i: cut_strictly(stream[i], rest) if i == first else cut(stream[i], rest),
        _end(stream, first + 1),
    )


def at(stream: Any, time: Time) -> Any:
    """s[t₀][t₁]… for t = (t₀, t₁, …).

    >>> from deltic_theory.groups import INTEGERS
    >>> at(Stream(INTEGERS, lambda t: t + 1), 2)
    3
    """
    first, rest = _split(time)
    return at(stream[first], rest) if rest else stream[first]


def _split(time: Time) -> tuple[int, tuple[int, ...]]:
    return (time, ()) if isinstance(time, int) else (time[0], time[1:])


def _end(stream: Stream[Any], end: int) -> int:
    return end if stream.zero_from is None else min(end, stream.zero_from)
