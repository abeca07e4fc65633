"""The syntax of Datalog formulas: relations, ⊤, ⊥, ∧, ∨, ¬, ∃, ∀, equality and comparisons [FIX Fig. 1].

A relation variable R stands for a relation, for what a change adds to it or removes from it, ΔR and ∇R, or for its next
value, X(R) = (R ∨ ΔR) ∧ ¬∇R. Formulas are immutable and compare by structure; a new construct is derived
from `Formula` and says which variables are free in it.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from deltic.immutable import Immutable


@dataclass(frozen=True)
class Var:
    """A variable as a term."""

    name: str


@dataclass(frozen=True)
class Const:
    """A constant as a term."""

    value: Hashable


@dataclass(frozen=True)
class Plus:
    """The sum of two numbers as a term."""

    left: Term
    right: Term


Term = Var | Const | Plus


def term_variables(term: Term) -> frozenset[str]:
    """Return the variables of a term."""
    if isinstance(term, Var):
        return frozenset({term.name})
    if isinstance(term, Plus):
        return term_variables(term.left) | term_variables(term.right)
    return frozenset()


def term_value(term: Term, binding: Mapping[str, Any]) -> Any:
    """Return the value of a term whose variables are all bound."""
    if isinstance(term, Var):
        return binding[term.name]
    if isinstance(term, Plus):
        return term_value(term.left, binding) + term_value(term.right, binding)
    return term.value


class Formula(Immutable):
    """A Datalog formula. Every construct is a frozen dataclass derived from this class."""

    def free(self) -> frozenset[str]:
        """Return the variables free in the formula; by default those of its parts."""
        return frozenset().union(*(part.free() for part in parts(self)))

    def __and__(self, other: Formula) -> Formula:
        return And(self, other)

    def __or__(self, other: Formula) -> Formula:
        return Or(self, other)

    def __invert__(self) -> Formula:
        return Not(self)


class Version(enum.Enum):
    """What an atom reads of its relation R."""

    OLD = ""
    UP = "Δ"
    DOWN = "∇"
    NEXT = "X"


class Top(Formula):
    """⊤, the universal relation."""


class Bottom(Formula):
    """⊥, the empty relation."""


class Atom(Formula):
    """A relation applied to terms, one for each of its columns."""

    relation: str
    terms: tuple[Term, ...]
    version: Version = Version.OLD

    def free(self) -> frozenset[str]:
        return frozenset().union(*map(term_variables, self.terms))


class And(Formula):
    """T ∧ U."""

    left: Formula
    right: Formula


class Or(Formula):
    """T ∨ U."""

    left: Formula
    right: Formula


class Not(Formula):
    """¬T."""

    body: Formula


class Exists(Formula):
    """∃x.T."""

    variable: str
    body: Formula

    def free(self) -> frozenset[str]:
        return self.body.free() - {self.variable}


class Forall(Formula):
    """∀x.T."""

    variable: str
    body: Formula

    def free(self) -> frozenset[str]:
        return self.body.free() - {self.variable}


class Equal(Formula):
    """t = u."""

    left: Term
    right: Term

    def free(self) -> frozenset[str]:
        return term_variables(self.left) | term_variables(self.right)


class Compare(Formula):
    """t < u, and likewise ≤, >, ≥, ≠."""

    operator: str
    left: Term
    right: Term

    def free(self) -> frozenset[str]:
        return term_variables(self.left) | term_variables(self.right)


TOP = Top()
BOTTOM = Bottom()

F = TypeVar("F", bound=Formula)


def parts(formula: Formula) -> list[Formula]:
    """Return the immediate subformulas, in the order of the fields."""
    values = (getattr(formula, field.name) for field in dataclasses.fields(formula))
    return [value for value in values if isinstance(value, Formula)]


def rebuild(formula: F, function: Callable[[Formula], Formula]) -> F:
    """Return the formula with `function` applied to each immediate subformula.

    >>> rebuild(And(TOP, BOTTOM), Not)
    And(left=Not(body=Top()), right=Not(body=Bottom()))
    """
    fields = [field.name for field in dataclasses.fields(formula)]
    result = {name: getattr(formula, name) for name in fields}
    changed = {name: function(value) for name, value in result.items() if isinstance(value, Formula)}
    return dataclasses.replace(formula, **changed) if changed else formula


def atom(relation: str, *terms: str | int) -> Atom:
    """R(t, …), where a string names a variable and a number is a constant.

    >>> atom("e", "x", 3)
    Atom(relation='e', terms=(Var(name='x'), Const(value=3)), version=<Version.OLD: ''>)
    """
    return Atom(relation, tuple(Var(term) if isinstance(term, str) else Const(term) for term in terms))


def exists(*variables_and_body: str | Formula) -> Formula:
    """∃x.∃y.…T, from the variables and the body.

    >>> exists("x", "y", TOP)
    Exists(variable='x', body=Exists(variable='y', body=Top()))
    """
    *variables, body = variables_and_body
    for variable in reversed(variables):
        body = Exists(str(variable), body)  # type: ignore[arg-type]
    return body  # type: ignore[return-value]


def relations(formula: Formula) -> frozenset[str]:
    """Return the names of the relations that a formula mentions."""
    own = {formula.relation} if isinstance(formula, Atom) else set()
    return frozenset(own).union(*map(relations, parts(formula)))
