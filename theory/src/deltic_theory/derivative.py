"""Derivatives: what a change of the input does to the output [FIX §2.2, §2.3].

A derivative of f: A → B is a function f′: A × ΔA → ΔB with

    f(a ⊕ δa) = f(a) ⊕ f′(a, δa)

It need not be unique. Every construction below takes functions with their derivatives and yields one with a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from deltic_theory.change_action import ChangeAction, Complete, Monoid
from deltic_theory.variables import DA, DB, DC, A, B, C


@dataclass(frozen=True)
class Differentiable(Generic[A, DA, B, DB]):
    """A function together with one of its derivatives [FIX Def. 2].

    >>> double = Differentiable(lambda n: 2 * n, lambda n, dn: 2 * dn)
    >>> double(5) + double.derivative(5, 3) == double(5 + 3)
    True
    """

    function: Callable[[A], B]
    derivative: Callable[[A, DA], DB]

    def __call__(self, value: A) -> B:
        return self.function(value)

    def then(self, after: Differentiable[B, DB, C, DC]) -> Differentiable[A, DA, C, DC]:
        """Return the composite `after` ∘ self; see `compose`."""
        return compose(after, self)


def compose(after: Differentiable[B, DB, C, DC], before: Differentiable[A, DA, B, DB]) -> Differentiable[A, DA, C, DC]:
    """Return the composite g ∘ f with the chain rule's derivative g′(f(a), f′(a, δa)) [FIX Thm 3].

    >>> square = Differentiable(lambda n: n * n, lambda n, dn: 2 * n * dn + dn * dn)
    >>> fourth_power = compose(square, square)
    >>> fourth_power(2), fourth_power.derivative(2, 1)
    (16, 65)
    """
    return Differentiable(
        lambda a: after(before(a)),
        lambda a, change: after.derivative(before(a), before.derivative(a, change)),
    )


def identity() -> Differentiable[A, DA, A, DA]:
    """Return the identity; its derivative is the change itself."""
    return Differentiable(lambda a: a, lambda _, change: change)


def constant(value: B, target: Monoid[DB]) -> Differentiable[A, DA, B, DB]:
    """Return the function with one value only; its derivative is the empty change."""
    return Differentiable(lambda _: value, lambda _, __: target.empty)


def minus_derivative(
    function: Callable[[A], B], source: ChangeAction[A, DA], target: Complete[B, DB]
) -> Differentiable[A, DA, B, DB]:
    """Any function into a complete action, with the derivative f(a ⊕ δa) ⊖ f(a) [FIX Prop. 7].

    It always exists and saves nothing: it evaluates the function again.

    >>> from deltic_theory.monoids import INTEGERS_BY_INTEGERS
    >>> minus_derivative(abs, INTEGERS_BY_INTEGERS, INTEGERS_BY_INTEGERS).derivative(-3, 5)
    -1
    """
    return Differentiable(function, lambda a, change: target.minus(function(source.plus(a, change)), function(a)))


@dataclass(frozen=True)
class Partial(Generic[A, DA, B, DB, C, DC]):
    """A function of two arguments with its partial derivatives ∂₁f(a, δa, b) and ∂₂f(a, b, δb) [FIX §2.3.3].

    >>> times = Partial(lambda a, b: a * b, lambda a, da, b: da * b, lambda a, b, db: a * db)
    >>> times.first(3, 1, 5), times.second(3, 5, 1)
    (5, 3)
    """

    function: Callable[[A, B], C]
    first: Callable[[A, DA, B], DC]
    second: Callable[[A, B, DB], DC]


def total_derivative(
    partial: Partial[A, DA, B, DB, C, DC], first: ChangeAction[A, DA], target: Monoid[DC]
) -> Differentiable[tuple[A, B], tuple[DA, DB], C, DC]:
    """Return the function of pairs, with ∂₁f(a, δa, b) · ∂₂f(a ⊕ δa, b, δb): first argument first [FIX Prop. 8].

    >>> from deltic_theory.monoids import INTEGERS_BY_INTEGERS as Z
    >>> times = Partial(lambda a, b: a * b, lambda a, da, b: da * b, lambda a, b, db: a * db)
    >>> total_derivative(times, Z, Z).derivative((3, 5), (1, 1))
    9
    """

    def derivative(pair: tuple[A, B], change: tuple[DA, DB]) -> DC:
        (a, b), (da, db) = pair, change
        return target.compose(partial.first(a, da, b), partial.second(first.plus(a, da), b, db))

    return Differentiable(lambda pair: partial.function(*pair), derivative)


def partial_derivatives(
    function: Differentiable[tuple[A, B], tuple[DA, DB], C, DC], first: Monoid[DA], second: Monoid[DB]
) -> Partial[A, DA, B, DB, C, DC]:
    """Return the partial derivatives of a function of pairs: the other argument's change is empty [FIX Prop. 8]."""
    return Partial(
        lambda a, b: function((a, b)),
        lambda a, da, b: function.derivative((a, b), (da, second.empty)),
        lambda a, b, db: function.derivative((a, b), (first.empty, db)),
    )
