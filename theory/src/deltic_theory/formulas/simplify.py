"""Simplification of formulas by the laws of Boolean algebras and quantifiers.

    T ∧ ⊤ = T    T ∧ ⊥ = ⊥    T ∧ T = T    T ∧ ¬T = ⊥    T ∧ (T ∨ U) = T    ¬¬T = T    ∃x.⊥ = ⊥    ∃x.⊤ = ⊤

and their duals. The universe is taken to be nonempty, or ∃x.⊤ would be ⊥.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from deltic_theory.formulas import syntax as s


def simplify(formula: s.Formula) -> s.Formula:
    """Return an equivalent formula, usually smaller and never larger.

    >>> from deltic_theory.formulas.syntax import BOTTOM, TOP, atom
    >>> from deltic_theory.formulas.text import text
    >>> p = atom("p", "x")
    >>> text(simplify((BOTTOM & p) | (~~p & TOP)))
    'p(x)'
    """
    formula = s.rebuild(formula, simplify)
    rule = SIMPLIFICATIONS.get(type(formula))
    return rule(formula) if rule is not None else formula


def conjuncts(formula: s.Formula) -> list[s.Formula]:
    """Return the operands of a chain of ∧, from left to right."""
    return chain(formula, s.And)


def chain(formula: s.Formula, connective: type[s.And] | type[s.Or]) -> list[s.Formula]:
    """Return the operands of a chain of one connective, from left to right."""
    if not isinstance(formula, connective):
        return [formula]
    return chain(formula.left, connective) + chain(formula.right, connective)


def _connective(
    formula: s.Formula,
    connective: type[s.And] | type[s.Or],
    dual: type[s.And] | type[s.Or],
    unit: s.Formula,
    zero: s.Formula,
) -> s.Formula:
    """Return the chain without units, repetitions and absorbed operands; the zero where an operand meets its
    complement.
    """
    operands = list(dict.fromkeys(operand for operand in chain(formula, connective) if operand != unit))
    if zero in operands or any(s.Not(operand) in operands for operand in operands):
        return zero
    kept = [t for t in operands if not _absorbed(t, operands, dual)]
    return reduce(connective, kept) if kept else unit


def _absorbed(operand: s.Formula, operands: list[s.Formula], dual: type[s.And] | type[s.Or]) -> bool:
    """Return whether another operand is one of this operand's own under the dual connective: T ∧ (T ∨ U) = T."""
    return isinstance(operand, dual) and any(part in operands for part in chain(operand, dual))


def _not(formula: s.Formula) -> s.Formula:
    body = formula.body if isinstance(formula, s.Not) else formula
    if isinstance(body, s.Not):
        return body.body
    if isinstance(body, s.Top):
        return s.BOTTOM
    return s.TOP if isinstance(body, s.Bottom) else formula


def _quantifier(formula: s.Formula) -> s.Formula:
    """A quantifier over a variable that its body does not mention is dropped."""
    if isinstance(formula, s.Exists | s.Forall) and formula.variable not in formula.body.free():
        return formula.body
    return formula


SIMPLIFICATIONS: dict[type[s.Formula], Callable[[s.Formula], s.Formula]] = {
    s.And: lambda formula: _connective(formula, s.And, s.Or, s.TOP, s.BOTTOM),
    s.Or: lambda formula: _connective(formula, s.Or, s.And, s.BOTTOM, s.TOP),
    s.Not: _not,
    s.Exists: _quantifier,
    s.Forall: _quantifier,
}
