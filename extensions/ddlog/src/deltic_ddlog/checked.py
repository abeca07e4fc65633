"""A DDlog program after checking, which `lowering/` turns into a circuit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deltic.datalog.syntax.expressions import SyntaxNode, parts_of
from deltic.datalog.syntax.source import Span
from deltic_ddlog import types as t
from deltic_ddlog.core import Pattern, TypedExpression
from deltic_ddlog.modules import Text
from deltic_ddlog.syntax import Role, Semantics
from deltic_ddlog.types import DdlogType, Named, substitute
from deltic_ddlog.values import Constructor, MapValue, Set, Struct, Vec

if TYPE_CHECKING:
    from deltic_ddlog.serde import JsonForm


@dataclass(frozen=True)
class TypeDefinition:
    """A type with constructors, or an extern one, which has none. Fields are of types over `parameters`."""

    name: str
    parameters: tuple[str, ...]
    constructors: tuple[tuple[Constructor, tuple[DdlogType, ...]], ...]
    json: JsonForm | None = field(default=None, compare=False)

    def at(self, type_: Named, fields: Iterable[DdlogType]) -> tuple[DdlogType, ...]:
        """Types over the parameters, as they are in a type."""
        given = dict(zip(self.parameters, type_.arguments, strict=True))
        return tuple(substitute(each, given) for each in fields)


@dataclass(frozen=True)
class PrimaryKey:
    """The key of a record: `expression` over `variable`."""

    variable: str
    expression: TypedExpression


@dataclass(frozen=True)
class ResolvedRelation:
    """A relation. Its name is in full (`module::R`); records are of type `record`, which may be a reference."""

    name: str
    record: DdlogType
    role: Role
    semantics: Semantics
    key: PrimaryKey | None
    span: Span
    original: str | None = None


class Head(SyntaxNode):
    """What a rule derives: `record`, of the relation's type."""

    relation: str
    record: TypedExpression


class MatchStep(SyntaxNode):
    """Records of a relation that match a pattern, as of `delay` transactions ago, or the new ones of a stream."""

    relation: str
    pattern: Pattern
    delay: int
    differentiated: bool


class AbsentStep(SyntaxNode):
    """No record of a relation matches a pattern, which binds nothing."""

    relation: str
    pattern: Pattern
    delay: int
    differentiated: bool


class ConditionStep(SyntaxNode):
    """An expression is true."""

    expression: TypedExpression


class AssignmentStep(SyntaxNode):
    """The value of an expression matches a pattern, which may bind variables."""

    pattern: Pattern
    expression: TypedExpression


class FlatMapStep(SyntaxNode):
    """One item of a Vec, Set, Map or Group matches a pattern; an item of a Map is a tuple of key and value."""

    pattern: Pattern
    items: TypedExpression


class GroupBy(SyntaxNode):
    """A group of type `ddlog_std::Group<K, V>`, by the variable `name`, for each value of `key`.

    Of what is known before, only what `key` binds is known after it: variables are where they stand in `key`.
    `values` are what is in the group, each once with the number of its derivations.
    """

    name: str
    type: DdlogType
    values: TypedExpression
    key: TypedExpression
    visible: tuple[str, ...]


class InspectStep(SyntaxNode):
    """An expression that is computed for its effect: `ddlog_weight` and `ddlog_timestamp` are variables in it."""

    expression: TypedExpression


Clause = MatchStep | AbsentStep | ConditionStep | AssignmentStep | FlatMapStep | GroupBy | InspectStep


class ResolvedRule(SyntaxNode):
    """Heads and a body whose clauses bind variables from left to right; no name is bound twice."""

    heads: tuple[Head, ...]
    body: tuple[Clause, ...]

    @property
    def expressions(self) -> Iterator[TypedExpression]:
        """The expressions of clauses, of patterns in these, and of heads."""
        return _outermost(self)


def _outermost(node: SyntaxNode) -> Iterator[TypedExpression]:
    for part in parts_of(node):
        if isinstance(part, TypedExpression):
            yield part
        else:
            yield from _outermost(part)


class Index(SyntaxNode):
    """Records of a relation that match a pattern, by the values of `parameters`, which the pattern binds."""

    name: str
    parameters: tuple[tuple[str, DdlogType], ...]
    relation: str
    pattern: Pattern


@dataclass(frozen=True)
class ResolvedProgram:
    """A program as data: its own modules by their paths, "" for the program itself, and the functions of extern ones.

    The `fingerprint` tells programs apart.
    """

    fingerprint: str
    texts: tuple[tuple[str, Text], ...] = field(repr=False, compare=False)
    functions: Mapping[str, Callable[..., Any]] = field(repr=False, compare=False)


_EMPTY = {
    "ddlog_std::Vec": Vec(),
    "ddlog_std::Set": Set(),
    "ddlog_std::Map": MapValue(),
    "hashset::HashSet": Set(),
    "tinyset::Set64": Set(),
}

# Of what stands for a text, where "" is none.
_FIRST = {
    "time::Time": "00:00:00.000000000",
    "time::Date": "1970-01-01",
    "time::TzDateTime": "1970-01-01T00:00:00+00:00",
}


def default_of(type_: t.DdlogType, types: Mapping[str, TypeDefinition]) -> Any:
    """Return the default of a type: zero, empty, or its first constructor with defaults."""
    if isinstance(type_, t.Named) and type_.name in _FIRST:
        return _FIRST[type_.name]
    type_ = t.content(type_)
    match type_:
        case t.Bool():
            return False
        case t.String():
            return ""
        case t.Float() | t.Double():
            return 0.0
        case t.Tuple(items):
            return tuple(default_of(item, types) for item in items)
        case t.Named(name):
            if name in _EMPTY:
                return _EMPTY[name]
            definition = types[name]
            if not definition.constructors:
                raise TypeError(f"there is no default value of the type {type_}")
            constructor, fields = definition.constructors[0]
            return Struct(constructor, (default_of(field, types) for field in definition.at(type_, fields)))
        case t.CallableType() | t.TypeVariable():
            raise TypeError(f"there is no default value of the type {type_}")
    return 0
