"""Streams: functions of time, evaluated lazily, with values in a group [DBSP §3.1, §3.4].

A stream of streams is a stream whose values are streams; nothing here is special to a depth of nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from deltic_theory.groups import AbelianGroup
from deltic_theory.variables import A

SHOWN = 5


class NotStrictError(ValueError):
    """A stream was asked for the element that is being computed: it is defined in terms of its own present."""


class Stream(Generic[A]):
    """A function from times 0, 1, 2, … to the group `values`.

    `zero_from`, where it is known, is a time from which on all elements are zero: then the stream is zero almost
    everywhere [DBSP Def. 3.11]. Elements are computed once and in the order of time; one that needs itself raises
    NotStrictError. Two streams cannot be compared, only their beginnings.

    >>> from deltic_theory.groups import INTEGERS
    >>> Stream(INTEGERS, lambda t: t * t)
    [0 1 4 9 16 …]
    >>> Stream.of(INTEGERS, [7, 8]) + Stream(INTEGERS, lambda t: t)
    [7 9 2 3 4 …]
    """

    __slots__ = ("_computing", "_elements", "_function", "values", "zero_from")

    def __init__(self, values: AbelianGroup[A], function: Callable[[int], A], zero_from: int | None = None) -> None:
        self.values = values
        self.zero_from = zero_from
        self._function = function
        self._elements: list[A] = []
        self._computing = False

    @classmethod
    def of(cls, values: AbelianGroup[A], elements: Sequence[A]) -> Stream[A]:
        """Return the stream that begins with `elements` and is zero after them."""
        return cls(values, lambda t: elements[t], len(elements))

    def __getitem__(self, time: int) -> A:
        if time < 0:
            raise IndexError(f"a stream has no time {time}")
        if self.zero_from is not None and time >= self.zero_from:
            return self.values.zero
        while len(self._elements) <= time:
            self._elements.append(self._next())
        return self._elements[time]

    def _next(self) -> A:
        """Return the first element that was not computed yet."""
        time = len(self._elements)
        if self._computing:
            raise NotStrictError(f"the element at time {time} is defined by itself; put a delay into the cycle")
        self._computing = True
        try:
            return self._function(time)
        finally:
            self._computing = False

    def prefix(self, length: int) -> list[A]:
        """Return the elements at the times 0, …, length − 1."""
        return [self[time] for time in range(length)]

    def __add__(self, other: Stream[A]) -> Stream[A]:
        return Stream(self.values, lambda t: self.values.add(self[t], other[t]), _later_end(self, other))

    def __neg__(self) -> Stream[A]:
        return Stream(self.values, lambda t: self.values.negate(self[t]), self.zero_from)

    def __sub__(self, other: Stream[A]) -> Stream[A]:
        return self + -other

    def __repr__(self) -> str:
        return "[" + " ".join(map(str, self.prefix(SHOWN))) + " …]"


def _later_end(left: Stream[Any], right: Stream[Any]) -> int | None:
    """Return a time from which on both streams are zero, where it is known."""
    if left.zero_from is None or right.zero_from is None:
        return None
    return max(left.zero_from, right.zero_from)


@dataclass(frozen=True)
class Streams(Generic[A]):
    """The group of streams over a group, added at each time [DBSP Prop. 3.19]; its values may be streams again.

    >>> from deltic_theory.groups import INTEGERS
    >>> Streams(Streams(INTEGERS)).zero[3][4]
    0
    """

    values: AbelianGroup[A]

    @property
    def zero(self) -> Stream[A]:
        return Stream.of(self.values, [])

    def add(self, left: Stream[A], right: Stream[A]) -> Stream[A]:
        return left + right

    def negate(self, value: Stream[A]) -> Stream[A]:
        return -value


def nested_streams(values: AbelianGroup[Any], depth: int) -> AbelianGroup[Any]:
    """Return the group of streams of streams …, `depth` deep, over a group; the group itself for depth 0 [DBSP §5.2.1].

    >>> from deltic_theory.groups import INTEGERS
    >>> nested_streams(INTEGERS, 2) == Streams(Streams(INTEGERS))
    True
    """
    return Streams(nested_streams(values, depth - 1)) if depth else values


def nested_stream(values: AbelianGroup[A], depth: int, function: Callable[..., A]) -> Stream[Any]:
    """Return the nested stream s with s[t₀][t₁]… = function(t₀, t₁, …), `depth` ≥ 1 times.

    >>> from deltic_theory.groups import INTEGERS
    >>> nested_stream(INTEGERS, 2, lambda t0, t1: 10 * t0 + t1)[3]
    [30 31 32 33 34 …]
    """
    if depth == 1:
        return Stream(values, function)
    return Stream(
        nested_streams(values, depth - 1),
        lambda t: nested_stream(values, depth - 1, lambda *rest: function(t, *rest)),
    )


def block(stream: Any, *shape: int) -> Any:
    """Return the beginning of a nested stream as nested lists: the first shape[0] elements, of each the first shape[1],
    …

    >>> from deltic_theory.groups import INTEGERS
    >>> block(nested_stream(INTEGERS, 2, lambda t0, t1: 10 * t0 + t1), 2, 3)
    [[0, 1, 2], [10, 11, 12]]
    """
    return [block(element, *shape[1:]) for element in stream.prefix(shape[0])] if shape else stream
