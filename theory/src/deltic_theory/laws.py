"""Checkers of the laws of change actions and derivatives, for any that users write themselves.

Each takes what it checks and, for the variables of its laws, where to look for values: a hypothesis strategy
or a finite sequence. It returns nothing, or raises `LawViolation` with the smallest counterexample found:

    >>> from deltic_theory.monoids import INTEGERS_BY_INTEGERS as Z
    >>> square = Differentiable(lambda n: n * n, lambda n, dn: 2 * n * dn)
    >>> check_derivative(square, Z, Z, range(3), range(3))
    Traceback (most recent call last):
    ...
    deltic_theory.law.LawViolation: not a derivative: f(a ⊕ δa) = f(a) ⊕ f′(a, δa) fails
      a     = 0
      δa    = 1
      left  = 1
      right = 0

Where equality of values or changes is not ==, as for functions, pass `equal` or `change_equal`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from deltic_theory.change_action import ChangeAction, Complete, Continuous, Monoid, Ordered, Thin
from deltic_theory.derivative import Differentiable
from deltic_theory.law import Domain, Equality, Law, check
from deltic_theory.variables import A, B, D, E


def check_monoid(monoid: Monoid[D], changes: Domain[D], equal: Equality = operator.eq, examples: int = 200) -> None:
    """The unit and associativity laws of a monoid.

    >>> from deltic_theory.groups import IntegersModulo
    >>> from deltic_theory.monoids import GroupAction
    >>> check_monoid(GroupAction(IntegersModulo(3)), range(3))
    """
    empty, compose = monoid.empty, monoid.compose
    laws = [
        Law("not a monoid", "0 · δa = δa", ("δa",), lambda d: compose(empty, d), lambda d: d, equal),
        Law("not a monoid", "δa · 0 = δa", ("δa",), lambda d: compose(d, empty), lambda d: d, equal),
        Law(
            "not a monoid",
            "(δa · δb) · δc = δa · (δb · δc)",
            ("δa", "δb", "δc"),
            lambda d, e, f: compose(compose(d, e), f),
            lambda d, e, f: compose(d, compose(e, f)),
            equal,
        ),
    ]
    check(laws, {"δa": changes, "δb": changes, "δc": changes}, examples)


def check_change_action(
    action: ChangeAction[A, D],
    values: Domain[A],
    changes: Domain[D],
    equal: Equality = operator.eq,
    change_equal: Equality = operator.eq,
    examples: int = 200,
) -> None:
    """The monoid laws of the changes and the action laws of ⊕ [FIX Def. 1].

    >>> from deltic_theory.monoids import INTEGERS_DESCENDING
    >>> check_change_action(INTEGERS_DESCENDING, range(-3, 4), range(4))
    """
    check_monoid(action, changes, change_equal, examples)
    laws = [
        Law("not an action", "a ⊕ 0 = a", ("a",), lambda a: action.plus(a, action.empty), lambda a: a, equal),
        Law(
            "not an action",
            "a ⊕ (δa · δb) = (a ⊕ δa) ⊕ δb",
            ("a", "δa", "δb"),
            lambda a, d, e: action.plus(a, action.compose(d, e)),
            lambda a, d, e: action.plus(action.plus(a, d), e),
            equal,
        ),
    ]
    check(laws, {"a": values, "δa": changes, "δb": changes}, examples)


def minus_law(plus: Callable[[A, D], A], minus: Callable[[A, A], D], equal: Equality = operator.eq) -> Law:
    """Return the law of a minus operator, in the variables a and b, for any candidate [FIX Def. 5]."""
    return Law(
        "not a minus operator",
        "a ⊕ (b ⊖ a) = b",
        ("a", "b"),
        lambda a, b: plus(a, minus(b, a)),
        lambda _, b: b,
        equal,
    )


def check_complete(
    action: Complete[A, D], values: Domain[A], equal: Equality = operator.eq, examples: int = 200
) -> None:
    """That `minus` is a minus operator [FIX Def. 5].

    >>> from deltic_theory.monoids import INTEGERS_MODULO_2
    >>> check_complete(INTEGERS_MODULO_2, (0, 1))
    """
    check([minus_law(action.plus, action.minus, equal)], {"a": values, "b": values}, examples)


def check_thin(action: Thin[A, D], values: Domain[A], changes: Domain[D], examples: int = 200) -> None:
    """That `between` finds the very change that was made; then there is only one [CS Thin equivalences]."""
    law = Law(
        "not thin",
        "the change between a and a ⊕ δa is δa",
        ("a", "δa"),
        lambda a, d: action.between(a, action.plus(a, d)),
        lambda _, d: d,
    )
    check([law], {"a": values, "δa": changes}, examples)


def check_ordered(action: Ordered[A, D], values: Domain[A], changes: Domain[D], examples: int = 200) -> None:
    """That ⊕ and · are monotone [FIX Def. 14]. Finite domains are best: random pairs are seldom comparable."""
    plus, compose, leq, change_leq = action.plus, action.compose, action.leq, action.change_leq
    laws = [
        Law(
            "⊕ is not monotone",
            "a ≤ b and δa ≤ δb imply a ⊕ δa ≤ b ⊕ δb",
            ("a", "b", "δa", "δb"),
            lambda a, b, d, e: not (leq(a, b) and change_leq(d, e)) or leq(plus(a, d), plus(b, e)),
            lambda *_: True,
        ),
        Law(
            "· is not monotone",
            "δa ≤ δb implies δa · δc ≤ δb · δc and δc · δa ≤ δc · δb",
            ("δa", "δb", "δc"),
            lambda d, e, f: (
                not change_leq(d, e)
                or (change_leq(compose(d, f), compose(e, f)) and change_leq(compose(f, d), compose(f, e)))
            ),
            lambda *_: True,
        ),
    ]
    variables = {"a": values, "b": values}
    check(laws, {**variables, "δa": changes, "δb": changes, "δc": changes}, examples)


def check_continuous(
    action: Continuous[A, D],
    values: Domain[A],
    value_chains: Domain[Sequence[A]],
    changes: Domain[D],
    change_chains: Domain[Sequence[D]],
    examples: int = 200,
) -> None:
    """That ⊕ and · preserve suprema of ascending chains in each argument, and so jointly [FIX Def. 33, Prop. 35].

    `value_chains` and `change_chains` yield nonempty ascending chains.
    """
    plus, compose, sup, change_sup = action.plus, action.compose, action.supremum, action.change_supremum
    laws = [
        Law(
            "⊕ is not continuous",
            "(⋁ aᵢ) ⊕ δa = ⋁ (aᵢ ⊕ δa)",
            ("aᵢ", "δa"),
            lambda chain, d: plus(sup(chain), d),
            lambda chain, d: sup([plus(a, d) for a in chain]),
        ),
        Law(
            "⊕ is not continuous",
            "a ⊕ ⋁ δᵢ = ⋁ (a ⊕ δᵢ)",
            ("a", "δᵢ"),
            lambda a, chain: plus(a, change_sup(chain)),
            lambda a, chain: sup([plus(a, d) for d in chain]),
        ),
        Law(
            "· is not continuous",
            "(⋁ δᵢ) · δa = ⋁ (δᵢ · δa)",
            ("δᵢ", "δa"),
            lambda chain, d: compose(change_sup(chain), d),
            lambda chain, d: change_sup([compose(e, d) for e in chain]),
        ),
        Law(
            "· is not continuous",
            "δa · ⋁ δᵢ = ⋁ (δa · δᵢ)",
            ("δᵢ", "δa"),
            lambda chain, d: compose(d, change_sup(chain)),
            lambda chain, d: change_sup([compose(d, e) for e in chain]),
        ),
    ]
    check(laws, {"a": values, "aᵢ": value_chains, "δa": changes, "δᵢ": change_chains}, examples)


def derivative_law(
    function: Callable[[A], B],
    derivative: Callable[[A, D], E],
    source: ChangeAction[A, D],
    target: ChangeAction[B, E],
    equal: Equality = operator.eq,
) -> Law:
    """Return the equation of a derivative, in the variables a and δa [FIX Def. 2]."""
    return Law(
        "not a derivative",
        "f(a ⊕ δa) = f(a) ⊕ f′(a, δa)",
        ("a", "δa"),
        lambda a, d: function(source.plus(a, d)),
        lambda a, d: target.plus(function(a), derivative(a, d)),
        equal,
    )


def check_derivative(
    function: Differentiable[A, D, B, E],
    source: ChangeAction[A, D],
    target: ChangeAction[B, E],
    values: Domain[A],
    changes: Domain[D],
    equal: Equality = operator.eq,
    examples: int = 200,
) -> None:
    """That the derivative carried by `function` is one [FIX Def. 2]."""
    law = derivative_law(function.function, function.derivative, source, target, equal)
    check([law], {"a": values, "δa": changes}, examples)


def check_sup_derivative(
    function: Differentiable[A, D, B, E],
    source: ChangeAction[A, D],
    target: Ordered[B, E],
    values: Domain[A],
    changes: Domain[D],
    examples: int = 200,
) -> None:
    """That the derivative overshoots at most: f(a ⊕ δa) ≤ f(a) ⊕ f′(a, δa) [CS §4.1.1]."""
    law = derivative_law(function.function, function.derivative, source, target)
    statement = law.statement.replace("=", "≤")
    above = Law("not a sup-derivative", statement, law.variables, law.left, law.right, target.leq)
    check([above], {"a": values, "δa": changes}, examples)


def check_sub_derivative(
    function: Differentiable[A, D, B, E],
    source: ChangeAction[A, D],
    target: Ordered[B, E],
    values: Domain[A],
    changes: Domain[D],
    examples: int = 200,
) -> None:
    """That the derivative undershoots at most: f(a ⊕ δa) ≥ f(a) ⊕ f′(a, δa) [CS §4.1.1]."""
    law = derivative_law(function.function, function.derivative, source, target)
    statement = law.statement.replace("=", "≥")
    below = Law(
        "not a sub-derivative", statement, law.variables, law.left, law.right, lambda new, got: target.leq(got, new)
    )
    check([below], {"a": values, "δa": changes}, examples)


def check_regular(
    function: Differentiable[A, D, B, E],
    source: ChangeAction[A, D],
    target: ChangeAction[B, E],
    values: Domain[A],
    changes: Domain[D],
    change_equal: Equality = operator.eq,
    examples: int = 200,
) -> None:
    """The two natural conditions that no theorem here needs: f′ of no change and of a composite [FIX footnote 7]."""
    derivative = function.derivative
    laws = [
        Law(
            "not regular",
            "f′(a, 0) = 0",
            ("a",),
            lambda a: derivative(a, source.empty),
            lambda _: target.empty,
            change_equal,
        ),
        Law(
            "not regular",
            "f′(a, δa · δb) = f′(a, δa) · f′(a ⊕ δa, δb)",
            ("a", "δa", "δb"),
            lambda a, d, e: derivative(a, source.compose(d, e)),
            lambda a, d, e: target.compose(derivative(a, d), derivative(source.plus(a, d), e)),
            change_equal,
        ),
    ]
    check(laws, {"a": values, "δa": changes, "δb": changes}, examples)
