"""Expressions after checking: every name is resolved, every type is ground, and nothing is left to infer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltic.datalog.syntax.expressions import Node
from deltic_ddlog.types import Type, substitute

if TYPE_CHECKING:
    from deltic_ddlog.values import Constructor


@dataclass(frozen=True)
class FunctionInstance:
    """A function of the program or of a library at ground types. `number` tells instances of one name apart."""

    name: str
    number: int
    parameters: tuple[Type, ...]
    mutable: tuple[bool, ...]
    result: Type


def at(instance: FunctionInstance, given: Mapping[str, Type]) -> FunctionInstance:
    """The instance at the types that type variables stand for."""
    if not given:
        return instance
    types = tuple(substitute(type_, given) for type_ in instance.parameters)
    return replace(instance, parameters=types, result=substitute(instance.result, given))


@dataclass(frozen=True)
class Expression(Node):
    """Something that has a value of `type`."""

    type: Type


@dataclass(frozen=True)
class Literal(Expression):
    """A value that the program says."""

    value: Any


@dataclass(frozen=True)
class Variable(Expression):
    """A variable."""

    name: str


@dataclass(frozen=True)
class MakeTuple(Expression):
    """A tuple of values."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class MakeStruct(Expression):
    """A constructor applied to all of its fields."""

    constructor: Constructor
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class MakeVec(Expression):
    """A vector of values."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class MakeMap(Expression):
    """A map of keys to values."""

    items: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class FieldOf(Expression):
    """The field at a place of a struct, or the item of a tuple."""

    of: Expression
    index: int


@dataclass(frozen=True)
class SharedField(Expression):
    """A field that all constructors of a type have, at the place that each has it at."""

    of: Expression
    places: tuple[tuple[Constructor, int], ...]


@dataclass(frozen=True)
class CallFunction(Expression):
    """A function applied."""

    function: FunctionInstance
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class CallClosure(Expression):
    """A value that is a function, applied."""

    closure: Expression
    arguments: tuple[Expression, ...]
    mutable: tuple[bool, ...]


@dataclass(frozen=True)
class FunctionValue(Expression):
    """A function as a value."""

    function: FunctionInstance


@dataclass(frozen=True)
class MakeClosure(Expression):
    """A closure."""

    parameters: tuple[str, ...]
    mutable: tuple[bool, ...]
    body: Expression


@dataclass(frozen=True)
class Operation(Expression):
    """An operator applied to values; all of them are as the operand's types say."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class ToText(Expression):
    """The text of a value of a built-in type, as `${}` has it."""

    of: Expression


@dataclass(frozen=True)
class BitsOf(Expression):
    """Bits `high` to `low` of an integer."""

    of: Expression
    high: int
    low: int


@dataclass(frozen=True)
class CastTo(Expression):
    """A number as one of another type."""

    of: Expression


@dataclass(frozen=True)
class TryValue(Expression):
    """The value inside `of`, or else a return of what says that there is none.

    `found` is the constructor that holds the value; `failed` makes what is returned, of the whole value where it is
    None.
    """

    of: Expression
    found: Constructor
    failed: Constructor | None


@dataclass(frozen=True)
class AssignTo(Expression):
    """An assignment to variables, and fields of them: a pattern of places."""

    target: Pattern
    value: Expression


@dataclass(frozen=True)
class InSequence(Expression):
    """One expression after the other; the value is that of the last."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Choose(Expression):
    """The value of `then` or of `otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class MatchOn(Expression):
    """The value beside the first pattern that the subject has."""

    subject: Expression
    cases: tuple[tuple[Pattern, Expression], ...]


@dataclass(frozen=True)
class ForEach(Expression):
    """The body for each of the items; of the type of what is iterated, see `items.type`."""

    pattern: Pattern
    items: Expression
    body: Expression


@dataclass(frozen=True)
class BreakLoop(Expression):
    """Leaves a loop."""


@dataclass(frozen=True)
class ContinueLoop(Expression):
    """Goes on with the next item of a loop."""


@dataclass(frozen=True)
class ReturnValue(Expression):
    """Leaves a function."""

    value: Expression


# --- patterns


@dataclass(frozen=True)
class Pattern(Node):
    """What a value of `type` may look like."""

    type: Type


@dataclass(frozen=True)
class Anything(Pattern):
    """`_`."""


@dataclass(frozen=True)
class Bind(Pattern):
    """A new variable."""

    name: str


@dataclass(frozen=True)
class Store(Pattern):
    """A place that is assigned to: a variable, or a field in one."""

    place: Expression


@dataclass(frozen=True)
class Equal(Pattern):
    """The value of an expression, whose variables are known before."""

    expression: Expression


@dataclass(frozen=True)
class Parts(Pattern):
    """A struct of that constructor, or a tuple where it is None; a pattern for each field or item."""

    constructor: Constructor | None
    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class As(Pattern):
    """A new variable for what has a pattern."""

    name: str
    pattern: Pattern


def bound_by(pattern: Pattern) -> tuple[tuple[str, Type], ...]:
    """The variables that a pattern binds, with their types, from left to right."""
    match pattern:
        case Bind():
            return ((pattern.name, pattern.type),)
        case As():
            return ((pattern.name, pattern.type), *bound_by(pattern.pattern))
        case Parts():
            return tuple(found for part in pattern.parts for found in bound_by(part))
        case _:
            return ()


def is_place(expression: Expression) -> bool:
    """Whether an expression is a variable, or a part of one."""
    if isinstance(expression, FieldOf | SharedField):
        return is_place(expression.of)
    return isinstance(expression, Variable)
