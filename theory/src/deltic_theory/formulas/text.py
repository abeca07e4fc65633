"""Formulas as text, in the papers' notation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from deltic_theory.formulas.syntax import (
    And,
    Atom,
    Bottom,
    Compare,
    Equal,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Plus,
    Term,
    Top,
    Var,
    Version,
)

F = TypeVar("F", bound=Formula)

TEXTS: dict[type[Formula], Callable[[Any], str]] = {}


def prints(construct: type[F]) -> Callable[[Callable[[F], str]], Callable[[F], str]]:
    """Registers the decorated function as the text of a construct."""

    def register(function: Callable[[F], str]) -> Callable[[F], str]:
        TEXTS[construct] = function
        return function

    return register


def text(formula: Formula) -> str:
    """The formula as the papers write it; a construct without a text of its own shows as its dataclass.

    Examples
    --------
    >>> from deltic_theory.formulas.syntax import atom
    >>> text(atom("p", "x") & ~Exists("y", atom("child", "x", "y") & ~atom("treeP", "y")))
    'p(x) ∧ ¬∃y.(child(x, y) ∧ ¬treeP(y))'
    """
    return TEXTS.get(type(formula), repr)(formula)


def term_text(term: Term) -> str:
    """A term as text."""
    if isinstance(term, Var):
        return term.name
    if isinstance(term, Plus):
        return f"{term_text(term.left)} + {term_text(term.right)}"
    return str(term.value)


def _tight(formula: Formula) -> str:
    """The text as an operand of ¬ or the body of a quantifier."""
    return f"({text(formula)})" if isinstance(formula, And | Or | Equal | Compare) else text(formula)


@prints(Top)
def _top(formula: Top) -> str:
    return "⊤"


@prints(Bottom)
def _bottom(formula: Bottom) -> str:
    return "⊥"


@prints(Atom)
def _atom(formula: Atom) -> str:
    plain = f"{formula.relation}({', '.join(map(term_text, formula.terms))})"
    return plain if formula.version is Version.OLD else f"{formula.version.value}({plain})"


@prints(And)
def _and(formula: And) -> str:
    return " ∧ ".join(f"({text(t)})" if isinstance(t, Or) else text(t) for t in (formula.left, formula.right))


@prints(Or)
def _or(formula: Or) -> str:
    return " ∨ ".join(f"({text(t)})" if isinstance(t, And) else text(t) for t in (formula.left, formula.right))


@prints(Not)
def _not(formula: Not) -> str:
    return f"¬{_tight(formula.body)}"


@prints(Exists)
def _exists(formula: Exists) -> str:
    return f"∃{formula.variable}.{_tight(formula.body)}"


@prints(Forall)
def _forall(formula: Forall) -> str:
    return f"∀{formula.variable}.{_tight(formula.body)}"


@prints(Equal)
def _equal(formula: Equal) -> str:
    return f"{term_text(formula.left)} = {term_text(formula.right)}"


@prints(Compare)
def _compare(formula: Compare) -> str:
    return f"{term_text(formula.left)} {formula.operator} {term_text(formula.right)}"
