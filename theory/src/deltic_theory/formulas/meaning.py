"""What formulas mean over a finite universe: ⟦T⟧_Γ, a relation over Γ for each model [FIX Fig. 1].

One function for each construct, registered by its class; `meaning` registers that of a new one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from deltic_theory.formulas import syntax as s
from deltic_theory.formulas.relations import NO_ROWS, Model, Row, Rows, select, universal

Columns = tuple[str, ...]
F = TypeVar("F", bound=s.Formula)
Meaning = Callable[[F, Columns, Model], Rows]

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "≤": operator.le,
    ">": operator.gt,
    "≥": operator.ge,
    "≠": operator.ne,
}

MEANINGS: dict[type[s.Formula], Meaning[Any]] = {}


def meaning(construct: type[F]) -> Callable[[Meaning[F]], Meaning[F]]:
    """Registers the decorated function as the meaning of a construct."""

    def register(function: Meaning[F]) -> Meaning[F]:
        MEANINGS[construct] = function
        return function

    return register


def denote(formula: s.Formula, columns: Columns, model: Model) -> Rows:
    """⟦formula⟧ over the schema `columns`, which must contain its free variables; the model must have a universe.

    >>> from deltic_theory.formulas.syntax import atom
    >>> model = Model({"e": {(1, 2), (2, 3)}}, universe=(1, 2, 3))
    >>> sorted(denote(~atom("e", "x", "y"), ("x", "y"), model))
    [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)]
    """
    return MEANINGS[type(formula)](formula, columns, model)


def universe_of(model: Model) -> tuple[Hashable, ...]:
    """Return the model's universe; ValueError where it has none."""
    if model.universe is None:
        raise ValueError("this needs a finite universe, and the model has none")
    return model.universe


def everything(columns: Columns, model: Model) -> Rows:
    """U_Γ over the model's universe."""
    return universal(columns, universe_of(model))


def satisfying(columns: Columns, model: Model, test: Callable[[dict[str, Any]], bool]) -> Rows:
    """Return the rows over `columns` that pass a test of the values by name."""
    return frozenset(row for row in everything(columns, model) if test(dict(zip(columns, row, strict=True))))


@meaning(s.Atom)
def _atom(formula: s.Atom, columns: Columns, model: Model) -> Rows:
    rows = model.rows(formula.relation, formula.version)

    def arguments(binding: dict[str, Any]) -> Row:
        return tuple(s.term_value(term, binding) for term in formula.terms)

    return satisfying(columns, model, lambda binding: arguments(binding) in rows)


@meaning(s.Compare)
def _compare(formula: s.Compare, columns: Columns, model: Model) -> Rows:
    holds = COMPARISONS[formula.operator]
    return satisfying(columns, model, lambda b: holds(s.term_value(formula.left, b), s.term_value(formula.right, b)))


@meaning(s.Exists)
def _exists(formula: s.Exists, columns: Columns, model: Model) -> Rows:
    """σ_Γ of the body over Γ ∪ {x}; a column of the quantified name is not the quantified variable."""
    others = tuple(name for name in columns if name != formula.variable)
    inner = (*others, formula.variable)
    result = select(denote(formula.body, inner, model), inner, others)
    if others == columns:
        return result
    return frozenset(row for row in everything(columns, model) if select([row], columns, others) <= result)


MEANINGS |= {
    s.Top: lambda formula, columns, model: everything(columns, model),
    s.Bottom: lambda formula, columns, model: NO_ROWS,
    s.And: lambda formula, *over: denote(formula.left, *over) & denote(formula.right, *over),
    s.Or: lambda formula, *over: denote(formula.left, *over) | denote(formula.right, *over),
    s.Not: lambda formula, *over: everything(*over) - denote(formula.body, *over),
    s.Forall: lambda formula, *over: denote(s.Not(s.Exists(formula.variable, s.Not(formula.body))), *over),
    s.Equal: lambda formula, columns, model: satisfying(
        columns, model, lambda b: s.term_value(formula.left, b) == s.term_value(formula.right, b)
    ),
}
