"""Fixpoints: iterated from below, incrementally, and differentiated [FIX §6].

    iter(f, n) = fⁿ(⊥)        lfp(f) = ⨆ₙ iter(f, n)

The derivative of `iterate` in n gives semi-naive evaluation, `incremental_fixpoint`. Its derivative in f gives
maintenance: a fixpoint δw of `adjust` turns a fixpoint of f into one of f ⊕ δf, `fixpoint_derivative`.

Which fixpoint depends on where the iteration over changes starts. For every change δ₀ of a = lfp(f),

    a ⊕ adjustⁿ(δ₀) = (f ⊕ δf)ⁿ(a ⊕ δ₀)

so the least fixpoint is reached from every δ₀ with a ⊕ δ₀ ≤ lfp(f ⊕ δf), provided that f ⊕ δf is monotone. The least
change is always such a start, and recomputes. The empty change is one when the update only adds. In between lie
over-deletions: a change that takes away all that may have lost its support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from deltic_theory.change_action import ChangeAction, Complete, Continuous
from deltic_theory.derivative import Differentiable
from deltic_theory.functional import Evaluation
from deltic_theory.variables import A, D

DF = TypeVar("DF")


class NoFixpointError(Exception):
    """An iteration did not become stationary within the given number of steps."""


def iterates(function: Callable[[A], A], start: A) -> Iterator[A]:
    """start, f(start), f(f(start)), … without end."""
    value = start
    while True:
        yield value
        value = function(value)


def iterate(function: Callable[[A], A], count: int, bottom: A) -> A:
    """iter(f, n) = fⁿ(⊥) [FIX §6.2.1].

    >>> iterate(lambda n: 2 * n + 1, 4, 0)
    15
    """
    return next(islice(iterates(function, bottom), count, None))


def stationary(values: Iterator[A], limit: int) -> A:
    """Return the first of `values` that equals its successor; NoFixpointError after `limit` of them."""
    value = next(values)
    for following in islice(values, limit):
        if following == value:
            return value
        value = following
    raise NoFixpointError(f"not stationary after {limit} steps")


def least_fixpoint(function: Callable[[A], A], bottom: A, limit: int = 10_000) -> A:
    """lfp(f) by Kleene's iteration from below; NoFixpointError after `limit` steps [FIX §6.2.1].

    The least fixpoint when f is monotone; for any f, what its iteration becomes stationary at.

    >>> least_fixpoint(lambda n: min(2 * n + 1, 10), 0)
    10
    """
    return stationary(iterates(function, bottom), limit)


def derivative_in_count(
    function: Differentiable[A, D, A, D], count: int, steps: int, action: Complete[A, D], bottom: A
) -> D:
    """∂₂iter(f, n, m): the change from iter(f, n) to iter(f, n + m) [FIX Prop. 38].

    >>> from deltic_theory.monoids import INTEGERS_BY_INTEGERS
    >>> double_and_one = Differentiable(lambda n: 2 * n + 1, lambda n, dn: 2 * dn)
    >>> derivative_in_count(double_and_one, 2, 1, INTEGERS_BY_INTEGERS, 0)
    4
    """
    change = action.minus(iterate(function, steps, bottom), bottom)
    for value in islice(iterates(function.function, bottom), count):
        change = function.derivative(value, change)
    return change


def recur(function: Differentiable[A, D, A, D], action: Complete[A, D], bottom: A) -> Iterator[tuple[A, D]]:
    """Return the pairs (iter(f, n), ∂₂iter(f, n, 1)) for n = 0, 1, …: an accumulator and its next change [FIX §6.2.2].

    Only the first change is a difference; each further one is the derivative of the last.

    >>> from deltic_theory.monoids import INTEGERS_BY_INTEGERS
    >>> double_and_one = Differentiable(lambda n: 2 * n + 1, lambda n, dn: 2 * dn)
    >>> list(islice(recur(double_and_one, INTEGERS_BY_INTEGERS, 0), 4))
    [(0, 1), (1, 2), (3, 4), (7, 8)]
    """
    start = (bottom, action.minus(function(bottom), bottom))
    return iterates(lambda pair: (action.plus(*pair), function.derivative(*pair)), start)


def incremental_fixpoint(
    function: Differentiable[A, D, A, D], action: Complete[A, D], bottom: A, limit: int = 10_000
) -> A:
    """lfp(f) by accumulating changes: semi-naive evaluation in general [FIX Thm 39].

    Stops when a change changes nothing. The function need not be monotone; it is iterated as it is.
    """
    return stationary((value for value, _ in recur(function, action, bottom)), limit)


def derivative_in_function(
    function: Callable[[A], A], change: DF, count: int, evaluation: Evaluation[A, A, DF, D, D], bottom: A, start: D
) -> D:
    """∂₁iter(f, δf, n): the change from iter(f, n) to iter(f ⊕ δf, n) [FIX Prop. 42].

    `start` must leave ⊥ as it is, like the least change and the empty one.
    """
    return next(islice(recur_in_function(function, change, evaluation, bottom, start), count, None))[1]


def recur_in_function(
    function: Callable[[A], A], change: DF, evaluation: Evaluation[A, A, DF, D, D], bottom: A, start: D
) -> Iterator[tuple[A, D]]:
    """Return the pairs (iter(f, n), ∂₁iter(f, δf, n)) for n = 0, 1, … [FIX §6.2.3]."""

    def step(pair: tuple[A, D]) -> tuple[A, D]:
        value, difference = pair
        return function(value), evaluation((function, value), (change, difference))

    return iterates(step, (bottom, start))


def adjust(
    function: Callable[[A], A], change: DF, fixpoint: A, evaluation: Evaluation[A, A, DF, D, D]
) -> Callable[[D], D]:
    """adjust(f, δf) = δa ↦ ev′((f, fix f), (δf, δa)): one step of the change of a fixpoint [FIX Def. 40]."""
    return lambda difference: evaluation((function, fixpoint), (change, difference))


def adjustments(
    function: Callable[[A], A], change: DF, fixpoint: A, evaluation: Evaluation[A, A, DF, D, D], start: D
) -> Iterator[D]:
    """Return the iteration of `adjust` from a given change, without end."""
    return iterates(adjust(function, change, fixpoint, evaluation), start)


def fixpoint_change(
    function: Callable[[A], A],
    change: DF,
    fixpoint: A,
    evaluation: Evaluation[A, A, DF, D, D],
    action: ChangeAction[A, D],
    start: D,
    limit: int = 10_000,
) -> D:
    """Return a change δw for which fixpoint ⊕ δw is a fixpoint of f ⊕ δf: the pseudo-derivative [FIX Thm 41].

    Iterates `adjust` from `start` until the changed value is stationary. It is the least fixpoint, lfp(f ⊕ δf), when
    f ⊕ δf is monotone and fixpoint ⊕ start is below it; nothing less is enough, see `derivative_of_least_fixpoint`.
    """
    previous: D = start
    for difference in islice(adjustments(function, change, fixpoint, evaluation, start), 1, limit):
        if action.plus(fixpoint, difference) == action.plus(fixpoint, previous):
            return previous
        previous = difference
    raise NoFixpointError(f"the changes of a fixpoint were not stationary after {limit} steps")


def derivative_of_least_fixpoint(
    function: Callable[[A], A],
    change: DF,
    fixpoint: A,
    evaluation: Evaluation[A, A, DF, D, D],
    action: Continuous[A, D],
    limit: int = 10_000,
) -> D:
    """lfp′(f, δf) = lfp(adjust(f, δf)), over the changes and so from the *least* change [FIX Thm 43].

    In L⋈ the least change removes everything, and the iteration recomputes. From the empty change `fixpoint_change`
    may end in a greater fixpoint, when facts that lost their support support each other; from an over-deletion that
    is below the new fixpoint it ends in the least one at the cost of what was deleted.
    """
    return fixpoint_change(function, change, fixpoint, evaluation, action, action.bottom_change, limit)
