"""Change actions on functions, and derivatives of evaluation [FIX §5].

In the pointwise action f ⊕ δf changes a function's result at every argument:

    (f ⊕ δf)(a) = f(a) ⊕ δf(a)

An action on functions is *functional* when evaluation ev(f, a) = f(a) is differentiable. The pointwise one is, and
its two derivatives of evaluation differ in what is known: a derivative of f, or one of f ⊕ δf.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from deltic_theory.change_action import ChangeAction, Complete
from deltic_theory.derivative import Differentiable
from deltic_theory.variables import DA, DB, DC, A, B, C

DF = TypeVar("DF")

Evaluation = Callable[[tuple[Callable[[A], B], A], tuple[DF, DA]], DB]
"""A derivative ev′((f, a), (δf, δa)) of the evaluation map, under some action on functions [FIX Def. 28]."""


@dataclass(frozen=True)
class Pointwise(Generic[A, B, DB]):
    """Functions A → B changed by functions A → ΔB, argument by argument [FIX Def. 30].

    Well defined on differentiable functions when B is complete, or when ΔB acts on itself completely and ⊕ is
    differentiable [FIX Thm 31]; then f ⊕ δf is differentiable again.

    >>> from deltic_theory.monoids import NATURALS
    >>> Pointwise(NATURALS).plus(lambda n: n * n, lambda n: 1)(5)
    26
    """

    codomain: ChangeAction[B, DB]

    @property
    def empty(self) -> Callable[[A], DB]:
        return lambda _: self.codomain.empty

    def compose(self, first: Callable[[A], DB], second: Callable[[A], DB]) -> Callable[[A], DB]:
        return lambda a: self.codomain.compose(first(a), second(a))

    def plus(self, value: Callable[[A], B], change: Callable[[A], DB]) -> Callable[[A], B]:
        return lambda a: self.codomain.plus(value(a), change(a))


@dataclass(frozen=True)
class CompletePointwise(Pointwise[A, B, DB]):
    """The pointwise action into a complete one, which is complete [FIX §10.1; CS §3.3].

    >>> from deltic_theory.monoids import INTEGERS_BY_INTEGERS
    >>> CompletePointwise(INTEGERS_BY_INTEGERS).minus(lambda n: n * n, lambda n: n)(5)
    20
    """

    codomain: Complete[B, DB]

    def minus(self, target: Callable[[A], B], source: Callable[[A], B]) -> Callable[[A], DB]:
        return lambda a: self.codomain.minus(target(a), source(a))


def evaluate(pair: tuple[Callable[[A], B], A]) -> B:
    """Return the evaluation map ev(f, a) = f(a)."""
    function, argument = pair
    return function(argument)


def evaluation_by_old(
    old: Callable[[A, DA], DB], source: ChangeAction[A, DA], target: ChangeAction[B, DB]
) -> Evaluation[A, B, Callable[[A], DB], DA, DB]:
    """ev′₁ = f′(a, δa) · δf(a ⊕ δa), from a derivative of the old function [FIX Prop. 32]."""

    def derivative(pair: tuple[Callable[[A], B], A], change: tuple[Callable[[A], DB], DA]) -> DB:
        (_, a), (df, da) = pair, change
        return target.compose(old(a, da), df(source.plus(a, da)))

    return derivative


def evaluation_by_new(
    new: Callable[[A, DA], DB], target: ChangeAction[B, DB]
) -> Evaluation[A, B, Callable[[A], DB], DA, DB]:
    """ev′₂ = δf(a) · (f ⊕ δf)′(a, δa), from a derivative of the new function [FIX Prop. 32]."""

    def derivative(pair: tuple[Callable[[A], B], A], change: tuple[Callable[[A], DB], DA]) -> DB:
        (_, a), (df, da) = pair, change
        return target.compose(df(a), new(a, da))

    return derivative


def derivative_from_evaluation(
    function: Callable[[A], B], evaluation: Evaluation[A, B, Callable[[A], DB], DA, DB], functions: Pointwise[A, B, DB]
) -> Differentiable[A, DA, B, DB]:
    """Every member of a functional action is differentiable, by f′(a, δa) = ev′((f, a), (0, δa)) [FIX Prop. 29]."""
    return Differentiable(function, lambda a, da: evaluation((function, a), (functions.empty, da)))


def curry(
    function: Differentiable[tuple[A, B], tuple[DA, DB], C, DC], empty: DB
) -> Differentiable[A, DA, Callable[[B], C], Callable[[B], DC]]:
    """Return the function a ↦ (b ↦ f(a, b)) into the pointwise action; `empty` is the empty change of b [CS §3.2].

    >>> times = Differentiable(lambda p: p[0] * p[1], lambda p, d: d[0] * p[1] + p[0] * d[1] + d[0] * d[1])
    >>> curry(times, 0).derivative(3, 2)(10)
    20
    """
    return Differentiable(
        lambda a: lambda b: function((a, b)),
        lambda a, da: lambda b: function.derivative((a, b), (da, empty)),
    )
