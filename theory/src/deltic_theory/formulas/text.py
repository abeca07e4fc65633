"""Formulas as text, in the papers' notation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from deltic_theory.formulas import syntax as s

F = TypeVar("F", bound=s.Formula)

TEXTS: dict[type[s.Formula], Callable[[Any], str]] = {}


def prints(construct: type[F]) -> Callable[[Callable[[F], str]], Callable[[F], str]]:
    """Registers the decorated function as the text of a construct."""

    def register(function: Callable[[F], str]) -> Callable[[F], str]:
        TEXTS[construct] = function
        return function

    return register


def text(formula: s.Formula) -> str:
    """Return the formula as the papers write it; a construct without a text of its own shows as its dataclass.

    >>> from deltic_theory.formulas.syntax import atom, exists
    >>> text(atom("p", "x") & ~exists("y", atom("child", "x", "y") & ~atom("treeP", "y")))
    'p(x) ∧ ¬∃y.(child(x, y) ∧ ¬treeP(y))'
    """
    return TEXTS.get(type(formula), repr)(formula)


def term_text(term: s.Term) -> str:
    """Return a term as text."""
    if isinstance(term, s.Var):
        return term.name
    if isinstance(term, s.Plus):
        return f"{term_text(term.left)} + {term_text(term.right)}"
    return str(term.value)


def _tight(formula: s.Formula) -> str:
    """Return the text as an operand of ¬ or the body of a quantifier."""
    return f"({text(formula)})" if isinstance(formula, s.And | s.Or | s.Equal | s.Compare) else text(formula)


def _operands(formula: s.And | s.Or, sign: str, dual: type[s.And] | type[s.Or]) -> str:
    return sign.join(f"({text(t)})" if isinstance(t, dual) else text(t) for t in (formula.left, formula.right))


def _atom(formula: s.Atom) -> str:
    plain = f"{formula.relation}({', '.join(map(term_text, formula.terms))})"
    return plain if formula.version is s.Version.OLD else f"{formula.version.value}({plain})"


TEXTS |= {
    s.Top: lambda formula: "⊤",
    s.Bottom: lambda formula: "⊥",
    s.Atom: _atom,
    s.And: lambda formula: _operands(formula, " ∧ ", s.Or),
    s.Or: lambda formula: _operands(formula, " ∨ ", s.And),
    s.Not: lambda formula: f"¬{_tight(formula.body)}",
    s.Exists: lambda formula: f"∃{formula.variable}.{_tight(formula.body)}",
    s.Forall: lambda formula: f"∀{formula.variable}.{_tight(formula.body)}",
    s.Equal: lambda formula: f"{term_text(formula.left)} = {term_text(formula.right)}",
    s.Compare: lambda formula: f"{term_text(formula.left)} {formula.operator} {term_text(formula.right)}",
}
