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
    """The instance at the types that type variables stand for."""
    if not given:
        return instance
    types = tuple(substitute(type_, given) for type_ in instance.parameters)
    return replace(instance, parameters=types, result=substitute(instance.result, given))


@dataclass(frozen=True)
class TypedExpression(SyntaxNode):
    """Something that has a value of `type`."""

    type: DdlogType


@dataclass(frozen=True)
class LiteralValue(TypedExpression):
    """A value that the program says."""

    value: Any


@dataclass(frozen=True)
class VariableValue(TypedExpression):
    """A variable."""

    name: str


@dataclass(frozen=True)
class MakeTuple(TypedExpression):
    """A tuple of values."""

    items: tuple[TypedExpression, ...]


@dataclass(frozen=True)
class MakeStruct(TypedExpression):
    """A constructor applied to all of its fields."""

    constructor: Constructor
    items: tuple[TypedExpression, ...]


@dataclass(frozen=True)
class MakeVec(TypedExpression):
    """A vector of values."""

    items: tuple[TypedExpression, ...]


@dataclass(frozen=True)
class MakeMap(TypedExpression):
    """A map of keys to values."""

    items: tuple[tuple[TypedExpression, TypedExpression], ...]


@dataclass(frozen=True)
class FieldOf(TypedExpression):
    """The field at a place of a struct, or the item of a tuple."""

    of: TypedExpression
    index: int


@dataclass(frozen=True)
class SharedField(TypedExpression):
    """A field that all constructors of a type have, at the place that each has it at."""

    of: TypedExpression
    places: tuple[tuple[Constructor, int], ...]


@dataclass(frozen=True)
class CallFunction(TypedExpression):
    """A function applied."""

    function: FunctionInstance
    arguments: tuple[TypedExpression, ...]


@dataclass(frozen=True)
class CallClosure(TypedExpression):
    """A value that is a function, applied."""

    closure: TypedExpression
    arguments: tuple[TypedExpression, ...]
    mutable: tuple[bool, ...]


@dataclass(frozen=True)
class FunctionValue(TypedExpression):
    """A function as a value."""

    function: FunctionInstance


@dataclass(frozen=True)
class MakeClosure(TypedExpression):
    """A closure."""

    parameters: tuple[str, ...]
    mutable: tuple[bool, ...]
    body: TypedExpression


@dataclass(frozen=True)
class Operation(TypedExpression):
    """An operator applied to values; all of them are as the operand's types say."""

    operator: str
    operands: tuple[TypedExpression, ...]


@dataclass(frozen=True)
class ToText(TypedExpression):
    """The text of a value of a built-in type, as `${}` has it."""

    of: TypedExpression


@dataclass(frozen=True)
class BitsOf(TypedExpression):
    """Bits `high` to `low` of an integer."""

    of: TypedExpression
    high: int
    low: int


@dataclass(frozen=True)
class CastTo(TypedExpression):
    """A number as one of another type."""

    of: TypedExpression


@dataclass(frozen=True)
class TryValue(TypedExpression):
    """The value inside `of`, or else a return of what says that there is none.

    `found` is the constructor that holds the value; `failed` makes what is returned, of the whole value where it is
    None.
    """

    of: TypedExpression
    found: Constructor
    failed: Constructor | None


@dataclass(frozen=True)
class AssignTo(TypedExpression):
    """An assignment to variables, and fields of them: a pattern of places."""

    target: Pattern
    value: TypedExpression


@dataclass(frozen=True)
class InSequence(TypedExpression):
    """One expression after the other; the value is that of the last."""

    items: tuple[TypedExpression, ...]


@dataclass(frozen=True)
class Choose(TypedExpression):
    """The value of `then` or of `otherwise`."""

    condition: TypedExpression
    then: TypedExpression
    otherwise: TypedExpression


@dataclass(frozen=True)
class MatchOn(TypedExpression):
    """The value beside the first pattern that the subject has."""

    subject: TypedExpression
    cases: tuple[tuple[Pattern, TypedExpression], ...]


@dataclass(frozen=True)
class ForEach(TypedExpression):
    """The body for each of the items; of the type of what is iterated, see `items.type`."""

    pattern: Pattern
    items: TypedExpression
    body: TypedExpression


@dataclass(frozen=True)
class BreakLoop(TypedExpression):
    """Leaves a loop."""


@dataclass(frozen=True)
class ContinueLoop(TypedExpression):
    """Continues with the next item of a loop."""


@dataclass(frozen=True)
class ReturnValue(TypedExpression):
    """Leaves a function."""

    value: TypedExpression


# --- patterns


@dataclass(frozen=True)
class Pattern(SyntaxNode):
    """What a value of `type` may look like."""

    type: DdlogType


@dataclass(frozen=True)
class Anything(Pattern):
    """`_`."""


@dataclass(frozen=True)
class Bind(Pattern):
    """A new variable."""

    name: str


@dataclass(frozen=True)
class AssignedPlace(Pattern):
    """A place that is assigned to: a variable, or a field in one."""

    place: TypedExpression


@dataclass(frozen=True)
class Equal(Pattern):
    """The value of an expression, whose variables are known before."""

    expression: TypedExpression


@dataclass(frozen=True)
class StructPattern(Pattern):
    """A struct of that constructor, or a tuple where it is None; a pattern for each field or item."""

    constructor: Constructor | None
    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class As(Pattern):
    """A new variable for what has a pattern."""

    name: str
    pattern: Pattern


def bound_by(pattern: Pattern) -> tuple[tuple[str, DdlogType], ...]:
    """The variables that a pattern binds, with their types, from left to right."""
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
    """Whether an expression is a variable, or a part of one."""
    if isinstance(expression, FieldOf | SharedField):
        return is_place(expression.of)
    return isinstance(expression, VariableValue)
