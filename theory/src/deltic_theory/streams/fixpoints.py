"""Unique fixed points of strict operators, of one or of several that call each other [DBSP Prop. 3.14, §3.3]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from deltic_theory.groups import AbelianGroup
from deltic_theory.streams.stream import Stream, Streams
from deltic_theory.variables import A


def fix(operator: Callable[[Stream[A]], Stream[A]], values: AbelianGroup[A]) -> Stream[A]:
    """Return the only α with α = F(α), for a strict F on streams over `values`, which may be streams themselves.

    Each element depends on earlier ones alone, so that it can be computed; where it depends on itself, looking at it
    raises NotStrictError.

    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.brackets import impulse
    >>> from deltic_theory.streams.operators import delay
    >>> fix(lambda a: impulse(INTEGERS, 1) + delay(a) + delay(a, 2), INTEGERS)
    [1 1 2 3 5 …]
    >>> fix(lambda a: impulse(INTEGERS, 1) + a, INTEGERS)
    Traceback (most recent call last):
    ...
    deltic_theory.streams.stream.NotStrictError: the element at time 0 is defined by itself; put a delay into the cycle
    """
    (solution,) = fix_together([operator], [values])
    return solution


def fix_together(
    operators: Sequence[Callable[..., Stream[Any]]], values: Sequence[AbelianGroup[Any]]
) -> tuple[Stream[Any], ...]:
    """Return the only α₁, …, αₙ with αᵢ = Fᵢ(α₁, …, αₙ), for operators that together are strict.

    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.brackets import impulse
    >>> from deltic_theory.streams.operators import delay
    >>> even = lambda even, odd: impulse(INTEGERS, 1) + delay(odd)
    >>> fix_together([even, lambda even, odd: delay(even)], [INTEGERS, INTEGERS])
    ([1 0 1 0 1 …], [0 1 0 1 0 …])
    """

    @cache
    def outputs() -> tuple[Stream[Any], ...]:
        return tuple(operator(*solutions) for operator in operators)

    def output(index: int) -> Callable[[], Stream[Any]]:
        return lambda: outputs()[index]

    solutions = tuple(_postponed(output(i), group) for i, group in enumerate(values))
    return solutions


def feedback(
    operator: Callable[..., Stream[A]], strict: Callable[[Stream[A]], Stream[Any]], values: AbelianGroup[A]
) -> Callable[..., Stream[A]]:
    """Return the operator Q(s₀, …) = fix α. T(s₀, …, F(α)) for a causal T and a strict F [DBSP Cor. 3.17].

    >>> import operator
    >>> from deltic_theory.groups import INTEGERS
    >>> from deltic_theory.streams.operators import delay
    >>> feedback(operator.add, delay, INTEGERS)(Stream(INTEGERS, lambda t: t))
    [0 1 3 6 10 …]
    """
    return lambda *streams: fix(lambda alpha: operator(*streams, strict(alpha)), values)


def _postponed(stream: Callable[[], Stream[Any]], values: AbelianGroup[Any]) -> Stream[Any]:
    """Return the stream that a function will return; it is called when an element that is no stream is looked at.

    So an element that is a stream may be passed on while it is being defined, as ↑z⁻¹ asks for.
    """
    if isinstance(values, Streams):
        inner = values.values
        return Stream(values, lambda t: _postponed(lambda: stream()[t], inner))
    return Stream(values, lambda t: stream()[t])
