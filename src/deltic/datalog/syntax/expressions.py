"""Expressions: the values in atoms and constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, TypeVar

from deltic.datalog.syntax.source import Span
from deltic.immutable import Immutable

if TYPE_CHECKING:
    from deltic.circuit.python import PythonFunction


class SyntaxNode(Immutable):
    """A node with a position in the text. Equality ignores the position."""

    span: Span = field(compare=False, repr=False, kw_only=True)
    field_names: ClassVar[tuple[str, ...]] = ("span",)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.field_names = tuple(each.name for each in fields(cls))


NodeT = TypeVar("NodeT", bound=SyntaxNode)


def with_parts(node: NodeT, change: Callable[[Any], Any]) -> NodeT:
    """Return the node with `change` applied to its direct child nodes."""

    def inside(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(inside, value))
        return change(value) if isinstance(value, SyntaxNode) else value

    return type(node)(**{name: inside(getattr(node, name)) for name in node.field_names})


def transform(node: NodeT, change: Callable[[Any], Any]) -> NodeT:
    """Return the node with `change` applied to all nodes in it and to itself, bottom-up."""
    made: NodeT = change(with_parts(node, lambda part: transform(part, change)))
    return made


def parts_of(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the direct child nodes, from left to right."""
    pending = [getattr(node, name) for name in reversed(node.field_names)]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple):
            pending.extend(reversed(value))
        elif isinstance(value, SyntaxNode):
            yield value


def nodes_in(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the node and its descendants in preorder, from left to right."""
    pending = [node]
    while pending:
        result = pending.pop()
        yield result
        pending.extend(reversed(tuple(parts_of(result))))


class Expression(SyntaxNode):
    """A syntax node with a value for each binding of its variables."""


class Variable(Expression):
    """A named variable."""

    name: str


class Unnamed(Variable):
    """A variable for a `_`; it may be NULL, unlike other variables."""


class Wildcard(Expression):
    """`_`: any value; each occurrence is independent."""


class NumberLiteral(Expression):
    """A whole number. It is a number, an unsigned or a float, depending on the context; by default it is a number."""

    value: int


class UnsignedLiteral(Expression):
    """A whole number with the suffix `u`."""

    value: int


class FloatLiteral(Expression):
    """A number with a decimal point."""

    value: float


class StringLiteral(Expression):
    """A symbol; `value` has its escapes resolved."""

    value: str


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


class Pack(FunctorCall):
    """A record or branch value whose type is known, with its `shape`, see `souffle.functions.structures`."""

    shape: str


class UserFunctorCall(FunctorCall):
    """A call of a user-defined functor, with its Python function."""

    function: PythonFunction


class Unpack(FunctorCall):
    """Field number `index` of the one argument; undefined if the value does not have this shape."""

    shape: str
    index: int


def is_structure(expression: Expression) -> TypeGuard[FunctorCall]:
    """Return whether it is a record, `nil`, or a branch value."""
    return isinstance(expression, FunctorCall) and (
        expression.functor in (RECORD, NIL) or expression.functor.startswith(BRANCH)
    )


def fields_of(expression: Expression) -> Iterator[Expression]:
    """Yield the expressions in the fields of a record or branch, recursively; any other expression itself."""
    pending = [expression]
    while pending:
        current = pending.pop()
        if is_structure(current):
            pending.extend(reversed(current.arguments))
        elif isinstance(current, Cast) and is_structure(current.argument):
            pending.append(current.argument)
        else:
            yield current


class TypeName(SyntaxNode):
    """The name of a type."""

    name: str


class Cast(Expression):
    """`as(argument, type)`: the same value with another declared type."""

    argument: Expression
    type: TypeName


def renamed(node: NodeT, names: Mapping[str, str]) -> NodeT:
    """Return the node with other names for some variables, wherever they are in it."""

    def rename(part: Any) -> Any:
        return replace(part, name=names.get(part.name, part.name)) if isinstance(part, Variable) else part

    return transform(node, rename)


def substituted(node: NodeT, variable: Variable, value: Expression) -> NodeT:
    """Return the node with a value in place of a variable."""
    return transform(node, lambda part: value if part == variable else part)


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and its descendants in preorder, from left to right."""
    pending = [expression]
    while pending:
        current = pending.pop()
        yield current
        if isinstance(current, FunctorCall):
            pending.extend(reversed(current.arguments))
        elif isinstance(current, Cast):
            pending.append(current.argument)


def variables(expression: Expression) -> Iterator[Variable]:
    """Return all occurrences of variables in the expression, from left to right."""
    return (part for part in subexpressions(expression) if isinstance(part, Variable))


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the expression with `change` applied to all parts, bottom-up."""
    if isinstance(expression, FunctorCall | Cast):
        return change(with_parts(expression, lambda p: rewrite(p, change) if isinstance(p, Expression) else p))
    return change(expression)
