"""Expressions after checking: every name is resolved, every type is ground, and nothing is left to infer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltic.datalog.syntax.expressions import SyntaxNode
from deltic_ddlog.types import DdlogType, substitute

if TYPE_CHECKING:
    from deltic_ddlog.values import Constructor


@dataclass(frozen=True)
class FunctionInstance:
    """A function of the program or of a library at ground types. `number` tells instances of one name apart."""

    name: str
    number: int
    parameters: tuple[DdlogType, ...]
    mutable: tuple[bool, ...]
    result: DdlogType


def at(instance: FunctionInstance, given: Mapping[str, DdlogType]) -> FunctionInstance:
    """Return the instance at the types that type variables stand for."""
    if not given:
        return instance
    types = tuple(substitute(type_, given) for type_ in instance.parameters)
    return replace(instance, parameters=types, result=substitute(instance.result, given))


class TypedExpression(SyntaxNode):
    """An expression whose value is of `type`."""

    type: DdlogType


class LiteralValue(TypedExpression):
    """A literal value."""

    value: Any


class VariableValue(TypedExpression):
    """A variable."""

    name: str


class MakeTuple(TypedExpression):
    """A tuple of values."""

    items: tuple[TypedExpression, ...]


class MakeStruct(TypedExpression):
    """A constructor applied to all of its fields."""

    constructor: Constructor
    items: tuple[TypedExpression, ...]


class MakeVec(TypedExpression):
    """A vector of values."""

    items: tuple[TypedExpression, ...]


class MakeMap(TypedExpression):
    """A map of keys to values."""

    items: tuple[tuple[TypedExpression, TypedExpression], ...]


class FieldOf(TypedExpression):
    """The field at a place of a struct, or the item of a tuple."""

    of: TypedExpression
    index: int


class SharedField(TypedExpression):
    """A field that all constructors of a type have, at the place that each has it at."""

    of: TypedExpression
    places: tuple[tuple[Constructor, int], ...]


class CallFunction(TypedExpression):
    """A function applied."""

    function: FunctionInstance
    arguments: tuple[TypedExpression, ...]


class CallClosure(TypedExpression):
    """A value that is a function, applied."""

    closure: TypedExpression
    arguments: tuple[TypedExpression, ...]
    mutable: tuple[bool, ...]


class FunctionValue(TypedExpression):
    """A function as a value."""

    function: FunctionInstance


class MakeClosure(TypedExpression):
    """A closure."""

    parameters: tuple[str, ...]
    mutable: tuple[bool, ...]
    body: TypedExpression


class Operation(TypedExpression):
    """An operator applied to values of the operands' types."""

    operator: str
    operands: tuple[TypedExpression, ...]


class ToText(TypedExpression):
    """The text of a value of a built-in type, as `${}` prints it."""

    of: TypedExpression


class BitsOf(TypedExpression):
    """Bits `high` to `low` of an integer."""

    of: TypedExpression
    high: int
    low: int


class CastTo(TypedExpression):
    """A number as one of another type."""

    of: TypedExpression


class TryValue(TypedExpression):
    """The value inside `of`, or else a return of what says that there is none.

    `found` is the constructor that holds the value; `failed` makes what is returned, of the whole value where it is
    None.
    """

    of: TypedExpression
    found: Constructor
    failed: Constructor | None


class AssignTo(TypedExpression):
    """An assignment to variables, and fields of them: a pattern of places."""

    target: Pattern
    value: TypedExpression


class InSequence(TypedExpression):
    """One expression after the other; the value is that of the last."""

    items: tuple[TypedExpression, ...]


class Choose(TypedExpression):
    """A choice: the value of `then` or of `otherwise`."""

    condition: TypedExpression
    then: TypedExpression
    otherwise: TypedExpression


class MatchOn(TypedExpression):
    """The value beside the first pattern that the subject matches."""

    subject: TypedExpression
    cases: tuple[tuple[Pattern, TypedExpression], ...]


class ForEach(TypedExpression):
    """The body for each of the items; of the type of what is iterated, see `items.type`."""

    pattern: Pattern
    items: TypedExpression
    body: TypedExpression


class LeaveLoop(TypedExpression):
    """Leaves a loop by `break`, or continues with its next item by `continue`."""

    word: str


class ReturnValue(TypedExpression):
    """Leaves a function."""

    value: TypedExpression


# --- patterns


class Pattern(SyntaxNode):
    """A pattern for values of `type`."""

    type: DdlogType


class Anything(Pattern):
    """`_`."""


class Bind(Pattern):
    """A new variable."""

    name: str


class AssignedPlace(Pattern):
    """A place that is assigned to: a variable, or a field in one."""

    place: TypedExpression


class Equal(Pattern):
    """The value of an expression, whose variables are known before."""

    expression: TypedExpression


class StructPattern(Pattern):
    """A struct of that constructor, or a tuple where it is None; a pattern for each field or item."""

    constructor: Constructor | None
    parts: tuple[Pattern, ...]


class As(Pattern):
    """A new variable for a value that matches a pattern."""

    name: str
    pattern: Pattern


def bound_by(pattern: Pattern) -> tuple[tuple[str, DdlogType], ...]:
    """Return the variables that a pattern binds, with their types, from left to right."""
    match pattern:
        case Bind():
            return ((pattern.name, pattern.type),)
        case As():
            return ((pattern.name, pattern.type), *bound_by(pattern.pattern))
        case StructPattern():
            return tuple(result for part in pattern.parts for result in bound_by(part))
        case _:
            return ()


def is_place(expression: TypedExpression) -> bool:
    """Return whether an expression is a variable, or a part of one."""
    if isinstance(expression, FieldOf | SharedField):
        return is_place(expression.of)
    return isinstance(expression, VariableValue)
