"""Iteration of a function on values: a stream of its iterates, and the value at which it rests [DBSP §5.3, §8.6]."""

from __future__ import annotations

from collections.abc import Callable

from deltic_theory.groups import AbelianGroup
from deltic_theory.streams.brackets import BOUND, impulse, limit
from deltic_theory.streams.fixpoints import fix
from deltic_theory.streams.operators import delay, lift
from deltic_theory.streams.stream import Stream
from deltic_theory.variables import A


def iterates(function: Callable[[A], A], values: AbelianGroup[A], start: A) -> Stream[A]:
    """fix α. δ₀(i) + z⁻¹(↑Q(α)): the stream i, Q(i), Q(Q(i)), …; the + is an *if* [DBSP Thm 5.8].

    >>> from deltic_theory.groups import INTEGERS
    >>> iterates(lambda n: 3 * n, INTEGERS, 1)
    [1 3 9 27 81 …]
    """
    return fix(lambda alpha: impulse(values, start) + delay(lift(function, values)(alpha)), values)


def while_changing(function: Callable[[A], A], values: AbelianGroup[A], start: A, bound: int = BOUND) -> A:
    """``x := i; while (x changes) x := Q(x)`` is X of the iterates of Q [DBSP §8.6].

    Q need not be monotone, nor keep zero. Raises DivergenceError when x changes still at the time `bound`.

    >>> from deltic_theory.groups import INTEGERS
    >>> while_changing(lambda n: n // 2 + 1, INTEGERS, 100)
    2
    >>> while_changing(lambda n: -n, INTEGERS, 1, bound=5)
    Traceback (most recent call last):
    ...
    deltic_theory.streams.brackets.DivergenceError: ∫ has no end before time 5: the stream is [1 -2 2 -2 2 …], \
its last element looked at is 2
    """
    # The first difference is i itself: where i is zero it says nothing of whether Q(i) is.
    return limit(iterates(function, values, start), bound, quiet=1 if start != values.zero else 2)
