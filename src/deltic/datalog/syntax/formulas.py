"""Formulas, which are true or false for a binding of variables: the bodies of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard, TypeVar, cast

from deltic.datalog.syntax.expressions import Expression, SyntaxNode, Variable, variables, with_parts


class BodyFormula(SyntaxNode):
    """A formula, which holds or does not hold for a binding of its variables."""


LiteralT = TypeVar("LiteralT", bound=BodyFormula)


class BodyAtom(BodyFormula):
    """An atom: the relation contains the row of these values."""

    relation: str
    arguments: tuple[Expression, ...]


class RelationName(SyntaxNode):
    """The name of a relation as a whole."""

    name: str


class OperatorAtom(BodyFormula):
    """`@operator[inputs](arguments)`: the row of these values is in the result of a Python operator on relations."""

    operator: str
    inputs: tuple[RelationName, ...]
    arguments: tuple[Expression, ...]

    @property
    def relation(self) -> str:
        """The name of the operator's result relation."""
        return f"@{self.operator}[{', '.join(given.name for given in self.inputs)}]"


class BodyComparison(BodyFormula):
    """`=`, `!=`, `<`, `<=`, `>` or `>=` between two values. False if one of them is undefined."""

    operator: str
    left: Expression
    right: Expression


class Test(BodyFormula):
    """A named condition on values, such as `contains("a", s)`. False if one of them is undefined."""

    __test__ = False

    name: str
    arguments: tuple[Expression, ...]


class Truth(BodyFormula):
    """`true` or `false`."""

    value: bool


class Negation(BodyFormula):
    """`!`: the part does not hold."""

    part: BodyFormula


class Conjunction(BodyFormula):
    """`,`: all parts hold. There are two or more."""

    parts: tuple[BodyFormula, ...]


class Disjunction(BodyFormula):
    """`;`: one of the parts holds. There are two or more."""

    parts: tuple[BodyFormula, ...]


class Implication(BodyFormula):
    """`->`: the conclusion holds, or the premise does not."""

    premise: BodyFormula
    conclusion: BodyFormula


class Quantified(BodyFormula):
    """`exists x, y: (…)` or `forall x, y: (…)`: the part holds for some, or for all, values of the variables."""

    quantifier: str
    variables: tuple[Variable, ...]
    part: BodyFormula


class AggregateExpression(Expression):
    """An aggregate of the values of targets over the bindings for which a body holds; `count` has no target.

    A Python aggregate is called by `@@` and its name, and may have several targets; `entry` is its name in circuits.
    """

    function: str
    targets: tuple[Expression, ...]
    body: BodyFormula
    entry: str = ""


class Aggregation(BodyFormula):
    """An aggregate taken out of an expression: `result` replaces it there, and is bound by this literal.

    The body is a conjunction. Its variables in `local` are its own, with names that are unique in the rule; the others
    are bound outside. `entry` is the name of a Python aggregate in circuits.
    """

    result: Variable
    function: str
    targets: tuple[Expression, ...]
    body: tuple[BodyFormula, ...]
    local: frozenset[str]
    entry: str = ""

    def free(self) -> dict[str, Variable]:
        """Return the free variables, each at its first mention."""
        inside = (v for target in self.targets for v in variables(target))
        mentions = [*inside, *(v for literal in self.body for v in mentions_of(literal))]
        return {v.name: v for v in reversed(mentions) if v.name not in self.local}


class Existential(BodyFormula):
    """∃: for some values of the variables in `local`, all literals of one of the bodies hold.

    The names of its local variables are unique in the rule. It holds or does not, however many such values there are.
    Under `!` it holds for no values.
    """

    bodies: tuple[tuple[BodyFormula, ...], ...]
    local: frozenset[str]

    def free(self) -> dict[str, Variable]:
        """Return the free variables, each at its first mention."""
        mentions = [v for body in self.bodies for literal in body for v in mentions_of(literal)]
        return {v.name: v for v in reversed(mentions) if v.name not in self.local}


def is_equation(literal: SyntaxNode) -> TypeGuard[BodyComparison]:
    """Return whether it is `=` between two values."""
    return isinstance(literal, BodyComparison) and literal.operator == "="


def bare(literal: BodyFormula) -> BodyFormula:
    """Return the literal without its `!`."""
    return literal.part if isinstance(literal, Negation) else literal


def bodies_in(literal: BodyFormula) -> tuple[tuple[BodyFormula, ...], ...]:
    """Return the bodies in an aggregation or a (negated) existential; empty for other literals."""
    inner = bare(literal)
    if isinstance(inner, Aggregation):
        return (inner.body,)
    return inner.bodies if isinstance(inner, Existential) else ()


def with_inner(body: Sequence[BodyFormula]) -> Iterator[BodyFormula]:
    """Yield the literals of a body, each aggregation or existential followed by the literals in it."""
    for literal in body:
        yield literal
        for inside in bodies_in(literal):
            yield from with_inner(inside)


def mentions_of(literal: BodyFormula) -> list[Variable]:
    """Return the variables that a literal shares with others: all of an atom or condition, the free ones of others."""
    inner = bare(literal)
    if isinstance(inner, Aggregation | Existential):
        return list(inner.free().values())
    return [v for e in expressions_of(inner) for v in variables(e)]


def expressions_of(literal: BodyFormula) -> tuple[Expression, ...]:
    """Return the outermost expressions of a literal (an atom, comparison or test, negated or not), from left to right.

    For an aggregation, its targets.
    """
    inner = bare(literal)
    if isinstance(inner, BodyComparison):
        return inner.left, inner.right
    if isinstance(inner, Aggregation):
        return inner.targets
    return inner.arguments if isinstance(inner, BodyAtom | Test) else ()


def with_expressions(literal: LiteralT, change: Callable[[Expression], Expression]) -> LiteralT:
    """Return the literal with `change` applied to its outermost expressions, and to those in its bodies."""

    def inside(part: SyntaxNode) -> SyntaxNode:
        return change(part) if isinstance(part, Expression) else with_expressions(cast("BodyFormula", part), change)

    has_own = isinstance(literal, BodyAtom | BodyComparison | Test | Negation | Aggregation | Existential)
    return with_parts(literal, inside) if has_own else literal
