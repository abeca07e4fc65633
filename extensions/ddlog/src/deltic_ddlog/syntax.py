"""The syntax tree of DDlog: what a module says, as it is written.

Names stand as the text has them (`std::Some`); `program.py` finds what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice

from deltic.datalog.syntax.expressions import SyntaxNode

# --- types as they are mentioned


class TypeMention(SyntaxNode):
    """A type where the text says it."""


class TypeReference(TypeMention):
    """`bool`, `string`, a type of the program or of a library: `Vec<string>`."""

    name: str
    arguments: tuple[TypeMention, ...] = ()


class WidthType(TypeMention):
    """`bit<8>` or `signed<8>`."""

    kind: Choice["bit", "signed"]
    width: int


class TupleType(TypeMention):
    """`(string, bool)`."""

    items: tuple[TypeMention, ...]


class TypeVariableName(TypeMention):
    """`'A`."""

    name: str


class ParameterType(SyntaxNode):
    """A parameter of a function's type."""

    mutable: bool
    type: TypeMention


class FunctionType(TypeMention):
    """`function(mut string): bool` or `|mut string|: bool`; without a result it gives `()`."""

    parameters: tuple[ParameterType, ...]
    result: TypeMention | None


# --- expressions


class ParsedExpression(SyntaxNode):
    """An expression or a pattern, as parsed."""


class WildcardPattern(ParsedExpression):
    """`_`."""


class BoolLiteral(ParsedExpression):
    """`true` or `false`."""

    value: bool


class IntLiteral(ParsedExpression):
    """`5`, `'d5`, `32'd5` (`width`), `'sd5` (`signed`)."""

    value: int
    width: int | None = None
    signed: bool = False


class FloatExpression(ParsedExpression):
    """`1.5`, `32'f1.5` (`width`)."""

    value: float
    width: int | None = None


class StringExpression(ParsedExpression):
    """A string without expressions; adjacent ones are one."""

    value: str


class Interpolation(ParsedExpression):
    """A string with expressions inside: `"x is ${x}"`."""

    parts: tuple[ParsedExpression, ...]


class InternedString(ParsedExpression):
    """`i"text"`."""

    text: ParsedExpression


class VecLiteral(ParsedExpression):
    """`[1, 2]`."""

    items: tuple[ParsedExpression, ...]


class MapLiteral(ParsedExpression):
    """`[1 -> "a", 2 -> "b"]`."""

    items: tuple[tuple[ParsedExpression, ParsedExpression], ...]


class TupleExpression(ParsedExpression):
    """`(a, b)`; `()` has no items."""

    items: tuple[ParsedExpression, ...]


class Argument(SyntaxNode):
    """An argument of a constructor or an atom, by place or `.name = value`."""

    name: str | None
    value: ParsedExpression


class Construct(ParsedExpression):
    """`Some{x}`, `None`, `Point{.x = 1, .y = 2}`; a pattern too."""

    constructor: str
    arguments: tuple[Argument, ...]
    braces: bool


class NameExpression(ParsedExpression):
    """A variable, or a function."""

    name: str


class FieldAccess(ParsedExpression):
    """`e.name`."""

    of: ParsedExpression
    name: str


class TupleField(ParsedExpression):
    """`e.0`."""

    of: ParsedExpression
    index: int


class CallExpression(ParsedExpression):
    """`f(a, b)`; `a.f(b)` is the same with `dotted`, and `callee` a name."""

    callee: ParsedExpression
    arguments: tuple[ParsedExpression, ...]
    dotted: bool = False


class Slice(ParsedExpression):
    """`e[high:low]`: bits, both ends included."""

    of: ParsedExpression
    high: int
    low: int


class Ascription(ParsedExpression):
    """`e: type`."""

    of: ParsedExpression
    type: TypeMention


class CastExpression(ParsedExpression):
    """`e as type`."""

    of: ParsedExpression
    type: TypeMention


class Try(ParsedExpression):
    """`e?`."""

    of: ParsedExpression


class Reference(ParsedExpression):
    """`&e`: a pattern of what a reference leads to."""

    of: ParsedExpression


class Unary(ParsedExpression):
    """`-`, `~` or `not`."""

    operator: str
    operand: ParsedExpression


class Binary(ParsedExpression):
    """An operator between two operands."""

    operator: str
    left: ParsedExpression
    right: ParsedExpression


class At(ParsedExpression):
    """`name @ pattern`."""

    name: str
    pattern: ParsedExpression


class VariableDeclaration(ParsedExpression):
    """`var name`, as what is assigned to or as a pattern."""

    name: str


class Assign(ParsedExpression):
    """`target = value`."""

    target: ParsedExpression
    value: ParsedExpression


class Sequence(ParsedExpression):
    """`{a; b; c}`: the value is that of the last one."""

    items: tuple[ParsedExpression, ...]


class If(ParsedExpression):
    """`if (condition) then else otherwise`; without the last it is `()`."""

    condition: ParsedExpression
    then: ParsedExpression
    otherwise: ParsedExpression | None


class MatchCase(SyntaxNode):
    """`pattern -> value`."""

    pattern: ParsedExpression
    value: ParsedExpression


class MatchExpression(ParsedExpression):
    """`match (subject) {cases}`."""

    subject: ParsedExpression
    cases: tuple[MatchCase, ...]


class For(ParsedExpression):
    """`for (pattern in items) body`."""

    pattern: ParsedExpression
    items: ParsedExpression
    body: ParsedExpression


class Leave(ParsedExpression):
    """`break` or `continue`."""

    word: str


class Return(ParsedExpression):
    """`return value`."""

    value: ParsedExpression | None


class LambdaParameter(SyntaxNode):
    """A parameter of a closure."""

    name: str
    mutable: bool
    type: TypeMention | None


class LambdaExpression(ParsedExpression):
    """`|x| body` or `function(x: s64): s64 {body}`."""

    parameters: tuple[LambdaParameter, ...]
    result: TypeMention | None
    body: ParsedExpression


# --- declarations


class AttributeAnnotation(SyntaxNode):
    """`#[name = value]` or `#[name]`."""

    name: str
    value: ParsedExpression | TypeMention | None


class ImportItem(SyntaxNode):
    """`import a::b as c`."""

    module: str
    alias: str | None


class FieldDeclaration(SyntaxNode):
    """A field of a constructor or of a relation."""

    name: str
    type: TypeMention
    attributes: tuple[AttributeAnnotation, ...] = ()


class ConstructorDeclaration(SyntaxNode):
    """A constructor of a type."""

    name: str
    fields: tuple[FieldDeclaration, ...]
    attributes: tuple[AttributeAnnotation, ...] = ()


class Typedef(SyntaxNode):
    """`typedef name<'A> = ...`: `definition` is its constructors, or the type that it is another name of.

    An `extern type` has none.
    """

    name: str
    parameters: tuple[str, ...]
    definition: tuple[ConstructorDeclaration, ...] | TypeMention | None
    attributes: tuple[AttributeAnnotation, ...] = ()


class ParameterDeclaration(SyntaxNode):
    """A parameter of a function."""

    name: str
    mutable: bool
    type: TypeMention


class FunctionDeclaration(SyntaxNode):
    """A function; an extern one has no body."""

    name: str
    parameters: tuple[ParameterDeclaration, ...]
    result: TypeMention | None
    body: ParsedExpression | None


Role = Choice["input", "output", "internal"]
Semantics = Choice["relation", "stream", "multiset"]


class KeyDeclaration(SyntaxNode):
    """`primary key (variable) expression`."""

    variable: str
    expression: ParsedExpression


class RelationDeclaration(SyntaxNode):
    """A relation: with `fields` a type of its name is declared with it, else records are of type `record`."""

    name: str
    role: Role
    semantics: Semantics
    by_reference: bool
    fields: tuple[FieldDeclaration, ...] | None
    record: TypeMention | None
    key: KeyDeclaration | None
    attributes: tuple[AttributeAnnotation, ...] = ()


class AtomClause(SyntaxNode):
    """`variable in &R-1(arguments)` or `R[record]`.

    `delay` counts transactions, `differentiated` is `R'`; `location` is that after `@` of a head.
    """

    relation: str
    arguments: tuple[Argument, ...] | None
    record: ParsedExpression | None
    variable: str | None = None
    by_reference: bool = False
    delay: int = 0
    differentiated: bool = False
    location: ParsedExpression | None = None


class IndexDeclaration(SyntaxNode):
    """`index name(parameters) on atom`."""

    name: str
    parameters: tuple[FieldDeclaration, ...]
    atom: AtomClause


class LiteralClause(SyntaxNode):
    """`atom` or `not atom` in a body."""

    atom: AtomClause
    negated: bool


class ConditionClause(SyntaxNode):
    """An expression in a body: a condition, or an assignment, with `group_by` or without."""

    expression: ParsedExpression


class FlatMapClause(SyntaxNode):
    """`var x = FlatMap(items)`."""

    pattern: ParsedExpression
    items: ParsedExpression


class AggregateClause(SyntaxNode):
    """`var x = Aggregate((keys), function(value))`."""

    pattern: ParsedExpression
    keys: ParsedExpression
    function: ParsedExpression


class InspectClause(SyntaxNode):
    """`Inspect expression`."""

    expression: ParsedExpression


Clause = LiteralClause | ConditionClause | FlatMapClause | AggregateClause | InspectClause


class RuleItem(SyntaxNode):
    """`heads :- body.`; a fact has no body."""

    heads: tuple[AtomClause, ...]
    body: tuple[Clause, ...]


class Transformer(SyntaxNode):
    """`extern transformer name(...) -> (...)`: refused where it is applied."""

    name: str


class ApplyItem(SyntaxNode):
    """`apply name(arguments) -> (results)`, of relations and functions by their names."""

    transformer: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]


Item = (
    ImportItem
    | Typedef
    | FunctionDeclaration
    | RelationDeclaration
    | IndexDeclaration
    | RuleItem
    | Transformer
    | ApplyItem
)


@dataclass(frozen=True)
class ModuleFile:
    """One file."""

    items: tuple[Item, ...]
