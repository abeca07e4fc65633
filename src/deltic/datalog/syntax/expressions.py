"""Expressions: what stands for a value in an atom or a constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from deltic.datalog.syntax.source import Span

if TYPE_CHECKING:
    from deltic.circuit.python import PythonFunction


@dataclass(frozen=True)
class SyntaxNode:
    """Anything with a place in the text. Nodes are equal when they say the same, wherever they stand."""

    span: Span = field(compare=False, repr=False, kw_only=True)


NodeT = TypeVar("NodeT", bound=SyntaxNode)


def with_parts(node: NodeT, change: Callable[[Any], Any]) -> NodeT:
    """The node with `change` applied to each node that is immediately in it."""

    def inside(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(inside, value))
        return change(value) if isinstance(value, SyntaxNode) else value

    return type(node)(**{f.name: inside(getattr(node, f.name)) for f in fields(node)})


def transform(node: NodeT, change: Callable[[Any], Any]) -> NodeT:
    """The node with `change` applied to every node in it and to itself, to the innermost first."""
    made: NodeT = change(with_parts(node, lambda part: transform(part, change)))
    return made


def parts_of(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The nodes that are immediately in a node, from left to right."""
    pending = [getattr(node, f.name) for f in reversed(fields(node))]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple):
            pending.extend(reversed(value))
        elif isinstance(value, SyntaxNode):
            yield value


def nodes_in(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The node and everything inside it, each before its parts, from left to right."""
    pending = [node]
    while pending:
        result = pending.pop()
        yield result
        pending.extend(reversed(tuple(parts_of(result))))


@dataclass(frozen=True)
class Expression(SyntaxNode):
    """Something that has a value for each binding of its variables."""


@dataclass(frozen=True)
class Variable(Expression):
    """A named variable."""

    name: str


@dataclass(frozen=True)
class Unnamed(Variable):
    """A variable that stands for `_`; it may be NULL, which no other variable is."""


@dataclass(frozen=True)
class Wildcard(Expression):
    """`_`: any value, and a different one at each place."""


@dataclass(frozen=True)
class NumberLiteral(Expression):
    """A whole number. It is a number, an unsigned or a float, as its place demands; by itself it is a number."""

    value: int


@dataclass(frozen=True)
class UnsignedLiteral(Expression):
    """A whole number with the suffix `u`."""

    value: int


@dataclass(frozen=True)
class FloatLiteral(Expression):
    """A number with a decimal point."""

    value: float


@dataclass(frozen=True)
class StringLiteral(Expression):
    """A symbol; `value` has its escapes resolved."""

    value: str


@dataclass(frozen=True)
class FunctorCall(Expression):
    """A functor or an operator applied to arguments. Negation is `-` with one argument.

    A record is `RECORD` applied to its fields, `nil` is applied to nothing, and a value of an algebraic data type is
    its branch, with `$` before the name, applied to the branch's fields.
    """

    functor: str
    arguments: tuple[Expression, ...]


FUNCTOR = "@"
AGGREGATE = "@@"
RECORD = "[]"
NIL = "nil"
BRANCH = "$"


@dataclass(frozen=True)
class Pack(FunctorCall):
    """A record or a value of a branch of known type: by its `shape`, see `souffle.functions.structures`."""

    shape: str


@dataclass(frozen=True)
class UserFunctorCall(FunctorCall):
    """A functor of the user, and the function of Python that it is."""

    function: PythonFunction


@dataclass(frozen=True)
class Unpack(FunctorCall):
    """Field number `index` of the one argument; undefined where that is not of this shape."""

    shape: str
    index: int


def is_structure(expression: Expression) -> TypeGuard[FunctorCall]:
    """Whether it is written as a record, `nil`, or a value of a branch."""
    return isinstance(expression, FunctorCall) and (
        expression.functor in (RECORD, NIL) or expression.functor.startswith(BRANCH)
    )


def fields_of(expression: Expression) -> Iterator[Expression]:
    """What stands in the fields of a record or branch, and in the fields of those; of other expressions themselves."""
    pending = [expression]
    while pending:
        current = pending.pop()
        if is_structure(current):
            pending.extend(reversed(current.arguments))
        elif isinstance(current, Cast) and is_structure(current.argument):
            pending.append(current.argument)
        else:
            yield current


@dataclass(frozen=True)
class TypeName(SyntaxNode):
    """The mention of a type."""

    name: str


@dataclass(frozen=True)
class Cast(Expression):
    """`as(argument, type)`: the same value under another name of its type."""

    argument: Expression
    type: TypeName


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it, each before its parts, from left to right."""
    pending = [expression]
    while pending:
        current = pending.pop()
        yield current
        if isinstance(current, FunctorCall):
            pending.extend(reversed(current.arguments))
        elif isinstance(current, Cast):
            pending.append(current.argument)


def variables(expression: Expression) -> Iterator[Variable]:
    """Every mention of a variable in the expression, from left to right."""
    return (part for part in subexpressions(expression) if isinstance(part, Variable))


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with `change` applied to every part, to the innermost first."""
    if isinstance(expression, FunctorCall):
        arguments = tuple(rewrite(argument, change) for argument in expression.arguments)
        return change(replace(expression, arguments=arguments))
    if isinstance(expression, Cast):
        return change(Cast(rewrite(expression.argument, change), expression.type, span=expression.span))
    return change(expression)
