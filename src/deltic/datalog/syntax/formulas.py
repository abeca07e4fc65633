"""Formulas: what is true or false of a binding of variables. The bodies of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from deltic.datalog.syntax.expressions import Expression, Node


@dataclass(frozen=True)
class Formula(Node):
    """Something that holds or does not hold for a binding of its variables."""


LiteralT = TypeVar("LiteralT", bound=Formula)


@dataclass(frozen=True)
class Atom(Formula):
    """The row of these values is in the relation."""

    relation: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Comparison(Formula):
    """`=`, `!=`, `<`, `<=`, `>` or `>=` between two values. False when one of them is undefined."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Test(Formula):
    """A named condition on values, such as `contains("a", s)`. False when one of them is undefined."""

    __test__ = False

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Truth(Formula):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Negation(Formula):
    """`!`: the part does not hold."""

    part: Formula


@dataclass(frozen=True)
class Conjunction(Formula):
    """`,`: all parts hold. There are two or more."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Disjunction(Formula):
    """`;`: one of the parts holds. There are two or more."""

    parts: tuple[Formula, ...]


def expressions_of(literal: Formula) -> tuple[Expression, ...]:
    """The outermost expressions of a literal (an atom, comparison or test, negated or not), from left to right."""
    inner = literal.part if isinstance(literal, Negation) else literal
    if isinstance(inner, Comparison):
        return inner.left, inner.right
    return inner.arguments if isinstance(inner, Atom | Test) else ()


def with_expressions(literal: LiteralT, change: Callable[[Expression], Expression]) -> LiteralT:
    """The literal with `change` applied to each of its outermost expressions."""
    if isinstance(literal, Negation):
        return replace(literal, part=with_expressions(literal.part, change))
    if isinstance(literal, Comparison):
        return replace(literal, left=change(literal.left), right=change(literal.right))
    if isinstance(literal, Atom | Test):
        return replace(literal, arguments=tuple(map(change, literal.arguments)))
    return literal
