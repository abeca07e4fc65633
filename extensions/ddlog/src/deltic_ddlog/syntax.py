"""The syntax tree of DDlog: what a module says, as it is written.

Names stand as the text has them (`std::Some`); `program.py` finds what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice

from deltic.datalog.syntax.expressions import Node

# --- types as they are mentioned


@dataclass(frozen=True)
class TypeMention(Node):
    """A type where the text says it."""


@dataclass(frozen=True)
class TypeName(TypeMention):
    """`bool`, `string`, a type of the program or of a library: `Vec<string>`."""

    name: str
    arguments: tuple[TypeMention, ...] = ()


@dataclass(frozen=True)
class WidthType(TypeMention):
    """`bit<8>` or `signed<8>`."""

    kind: Choice["bit", "signed"]
    width: int


@dataclass(frozen=True)
class TupleType(TypeMention):
    """`(string, bool)`."""

    items: tuple[TypeMention, ...]


@dataclass(frozen=True)
class TypeVariableName(TypeMention):
    """`'A`."""

    name: str


@dataclass(frozen=True)
class ParameterType(Node):
    """A parameter of a function's type."""

    type: TypeMention
    mutable: bool


@dataclass(frozen=True)
class FunctionType(TypeMention):
    """`function(mut string): bool` or `|mut string|: bool`; without a result it gives `()`."""

    parameters: tuple[ParameterType, ...]
    result: TypeMention | None


# --- expressions


@dataclass(frozen=True)
class Expression(Node):
    """Something that has a value, or is a pattern."""


@dataclass(frozen=True)
class Wildcard(Expression):
    """`_`."""


@dataclass(frozen=True)
class BoolLiteral(Expression):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class IntLiteral(Expression):
    """`5`, `'d5`, `32'd5` (`width`), `'sd5` (`signed`)."""

    value: int
    width: int | None = None
    signed: bool = False


@dataclass(frozen=True)
class FloatLiteral(Expression):
    """`1.5`, `32'f1.5` (`width`)."""

    value: float
    width: int | None = None


@dataclass(frozen=True)
class StringLiteral(Expression):
    """A string without expressions; adjacent ones are one."""

    value: str


@dataclass(frozen=True)
class Interpolation(Expression):
    """A string with expressions inside: `"x is ${x}"`."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class InternedString(Expression):
    """`i"text"`."""

    text: Expression


@dataclass(frozen=True)
class VecLiteral(Expression):
    """`[1, 2]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class MapLiteral(Expression):
    """`[1 -> "a", 2 -> "b"]`."""

    items: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class TupleExpression(Expression):
    """`(a, b)`; `()` has no items."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Argument(Node):
    """An argument of a constructor or an atom, by place or `.name = value`."""

    name: str | None
    value: Expression


@dataclass(frozen=True)
class Construct(Expression):
    """`Some{x}`, `None`, `Point{.x = 1, .y = 2}`; a pattern too."""

    constructor: str
    arguments: tuple[Argument, ...]
    braces: bool


@dataclass(frozen=True)
class Name(Expression):
    """A variable, or a function."""

    name: str


@dataclass(frozen=True)
class Field(Expression):
    """`e.name`."""

    of: Expression
    name: str


@dataclass(frozen=True)
class TupleField(Expression):
    """`e.0`."""

    of: Expression
    index: int


@dataclass(frozen=True)
class Call(Expression):
    """`f(a, b)`; `a.f(b)` is the same with `dotted`, and `callee` a name."""

    callee: Expression
    arguments: tuple[Expression, ...]
    dotted: bool = False


@dataclass(frozen=True)
class Slice(Expression):
    """`e[high:low]`: bits, both ends included."""

    of: Expression
    high: int
    low: int


@dataclass(frozen=True)
class Ascription(Expression):
    """`e: type`."""

    of: Expression
    type: TypeMention


@dataclass(frozen=True)
class Cast(Expression):
    """`e as type`."""

    of: Expression
    type: TypeMention


@dataclass(frozen=True)
class Try(Expression):
    """`e?`."""

    of: Expression


@dataclass(frozen=True)
class Reference(Expression):
    """`&e`: a pattern of what a reference leads to."""

    of: Expression


@dataclass(frozen=True)
class Unary(Expression):
    """`-`, `~` or `not`."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """An operator between two operands."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class At(Expression):
    """`name @ pattern`."""

    name: str
    pattern: Expression


@dataclass(frozen=True)
class Declaration(Expression):
    """`var name`, as what is assigned to or as a pattern."""

    name: str


@dataclass(frozen=True)
class Assign(Expression):
    """`target = value`."""

    target: Expression
    value: Expression


@dataclass(frozen=True)
class Sequence(Expression):
    """`{a; b; c}`: the value is that of the last one."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class If(Expression):
    """`if (condition) then else otherwise`; without the last it is `()`."""

    condition: Expression
    then: Expression
    otherwise: Expression | None


@dataclass(frozen=True)
class MatchCase(Node):
    """`pattern -> value`."""

    pattern: Expression
    value: Expression


@dataclass(frozen=True)
class Match(Expression):
    """`match (subject) {cases}`."""

    subject: Expression
    cases: tuple[MatchCase, ...]


@dataclass(frozen=True)
class For(Expression):
    """`for (pattern in items) body`."""

    pattern: Expression
    items: Expression
    body: Expression


@dataclass(frozen=True)
class Break(Expression):
    """`break`."""


@dataclass(frozen=True)
class Continue(Expression):
    """`continue`."""


@dataclass(frozen=True)
class Return(Expression):
    """`return value`."""

    value: Expression | None


@dataclass(frozen=True)
class LambdaParameter(Node):
    """A parameter of a closure."""

    name: str
    type: TypeMention | None
    mutable: bool


@dataclass(frozen=True)
class Lambda(Expression):
    """`|x| body` or `function(x: s64): s64 {body}`."""

    parameters: tuple[LambdaParameter, ...]
    result: TypeMention | None
    body: Expression


# --- declarations


@dataclass(frozen=True)
class Attribute(Node):
    """`#[name = value]` or `#[name]`."""

    name: str
    value: Expression | TypeMention | None


@dataclass(frozen=True)
class Import(Node):
    """`import a::b as c`."""

    module: str
    alias: str | None


@dataclass(frozen=True)
class FieldDeclaration(Node):
    """A field of a constructor or of a relation."""

    name: str
    type: TypeMention
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class ConstructorDeclaration(Node):
    """A constructor of a type."""

    name: str
    fields: tuple[FieldDeclaration, ...]
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Typedef(Node):
    """`typedef name<'A> = ...`: `definition` is its constructors, or the type that it is another name of.

    An `extern type` has none.
    """

    name: str
    parameters: tuple[str, ...]
    definition: tuple[ConstructorDeclaration, ...] | TypeMention | None
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class ParameterDeclaration(Node):
    """A parameter of a function."""

    name: str
    type: TypeMention
    mutable: bool


@dataclass(frozen=True)
class FunctionDeclaration(Node):
    """A function; an extern one has no body."""

    name: str
    parameters: tuple[ParameterDeclaration, ...]
    result: TypeMention | None
    body: Expression | None
    attributes: tuple[Attribute, ...] = ()


Role = Choice["input", "output", "internal"]
Semantics = Choice["relation", "stream", "multiset"]


@dataclass(frozen=True)
class KeyDeclaration(Node):
    """`primary key (variable) expression`."""

    variable: str
    expression: Expression


@dataclass(frozen=True)
class RelationDeclaration(Node):
    """A relation: with `fields` a type of its name is declared with it, else records are of type `record`."""

    name: str
    role: Role
    semantics: Semantics
    by_reference: bool
    fields: tuple[FieldDeclaration, ...] | None
    record: TypeMention | None
    key: KeyDeclaration | None
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Atom(Node):
    """`variable in &R-1(arguments)` or `R[record]`.

    `delay` counts transactions, `differentiated` is `R'`; `location` is that behind `@` of a head.
    """

    relation: str
    arguments: tuple[Argument, ...] | None
    record: Expression | None
    variable: str | None = None
    by_reference: bool = False
    delay: int = 0
    differentiated: bool = False
    location: Expression | None = None


@dataclass(frozen=True)
class IndexDeclaration(Node):
    """`index name(parameters) on atom`."""

    name: str
    parameters: tuple[FieldDeclaration, ...]
    atom: Atom
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Literal(Node):
    """`atom` or `not atom` in a body."""

    atom: Atom
    negated: bool


@dataclass(frozen=True)
class Condition(Node):
    """An expression in a body: a condition, or an assignment, with `group_by` or without."""

    expression: Expression


@dataclass(frozen=True)
class FlatMap(Node):
    """`var x = FlatMap(items)`."""

    pattern: Expression
    items: Expression


@dataclass(frozen=True)
class Aggregate(Node):
    """`var x = Aggregate((keys), function(value))`."""

    pattern: Expression
    keys: Expression
    function: Expression


@dataclass(frozen=True)
class Inspect(Node):
    """`Inspect expression`."""

    expression: Expression


Clause = Literal | Condition | FlatMap | Aggregate | Inspect


@dataclass(frozen=True)
class Rule(Node):
    """`heads :- body.`; a fact has no body."""

    heads: tuple[Atom, ...]
    body: tuple[Clause, ...]
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class Transformer(Node):
    """`extern transformer name(...) -> (...)`: refused where it is applied."""

    name: str


@dataclass(frozen=True)
class Apply(Node):
    """`apply name(arguments) -> (results)`, of relations and functions by their names."""

    transformer: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]


Item = Import | Typedef | FunctionDeclaration | RelationDeclaration | IndexDeclaration | Rule | Transformer | Apply


@dataclass(frozen=True)
class Module:
    """One file."""

    items: tuple[Item, ...]
