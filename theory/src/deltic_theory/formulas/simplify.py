"""Simplification of formulas by the laws of Boolean algebras and quantifiers.

    T ∧ ⊤ = T    T ∧ ⊥ = ⊥    T ∧ T = T    T ∧ ¬T = ⊥    T ∧ (T ∨ U) = T    ¬¬T = T    ∃x.⊥ = ⊥    ∃x.⊤ = ⊤

and their duals. The universe is taken to be nonempty, or ∃x.⊤ would be ⊥.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from deltic_theory.formulas.syntax import (
    BOTTOM,
    TOP,
    And,
    Bottom,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Top,
    rebuild,
)


def simplify(formula: Formula) -> Formula:
    """An equivalent formula, usually smaller and never larger.

    Examples
    --------
    >>> from deltic_theory.formulas.syntax import atom
    >>> from deltic_theory.formulas.text import text
    >>> p = atom("p", "x")
    >>> text(simplify((BOTTOM & p) | (~~p & TOP)))
    'p(x)'
    """
    formula = rebuild(formula, simplify)
    rule = SIMPLIFICATIONS.get(type(formula))
    return rule(formula) if rule is not None else formula


def conjuncts(formula: Formula) -> list[Formula]:
    """The operands of a chain of ∧, from left to right."""
    return chain(formula, And)


def chain(formula: Formula, connective: type[And] | type[Or]) -> list[Formula]:
    """The operands of a chain of one connective, from left to right."""
    if not isinstance(formula, connective):
        return [formula]
    return chain(formula.left, connective) + chain(formula.right, connective)


def _connective(
    formula: Formula, connective: type[And] | type[Or], dual: type[And] | type[Or], unit: Formula, zero: Formula
) -> Formula:
    """The chain without units, repetitions and absorbed operands; the zero where an operand meets its complement."""
    operands = list(dict.fromkeys(operand for operand in chain(formula, connective) if operand != unit))
    if zero in operands or any(Not(operand) in operands for operand in operands):
        return zero
    kept = [t for t in operands if not _absorbed(t, operands, dual)]
    return reduce(connective, kept) if kept else unit


def _absorbed(operand: Formula, operands: list[Formula], dual: type[And] | type[Or]) -> bool:
    """Whether another operand is one of this operand's own under the dual connective: T ∧ (T ∨ U) = T."""
    return isinstance(operand, dual) and any(part in operands for part in chain(operand, dual))


def _and(formula: Formula) -> Formula:
    return _connective(formula, And, Or, TOP, BOTTOM)


def _or(formula: Formula) -> Formula:
    return _connective(formula, Or, And, BOTTOM, TOP)


def _not(formula: Formula) -> Formula:
    body = formula.body if isinstance(formula, Not) else formula
    if isinstance(body, Not):
        return body.body
    if isinstance(body, Top):
        return BOTTOM
    return TOP if isinstance(body, Bottom) else formula


def _quantifier(formula: Formula) -> Formula:
    """A quantifier over a variable that its body does not mention is dropped."""
    if isinstance(formula, Exists | Forall) and formula.variable not in formula.body.free():
        return formula.body
    return formula


SIMPLIFICATIONS: dict[type[Formula], Callable[[Formula], Formula]] = {
    And: _and,
    Or: _or,
    Not: _not,
    Exists: _quantifier,
    Forall: _quantifier,
}
