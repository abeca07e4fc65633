"""A program without errors, the input of lowering and other users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltic.circuit.edges import ZSetType
from deltic.datalog.syntax.expressions import Expression, Variable
from deltic.datalog.syntax.formulas import BodyAtom, BodyFormula
from deltic.datalog.syntax.source import Span
from deltic.errors import Diagnostic
from deltic.values.types import Schema, Type

if TYPE_CHECKING:
    from deltic.circuit.custom import CustomOperator


@dataclass(frozen=True)
class CheckedRelation:
    """A relation of the program. A *hidden* one is derived only for other rules and is not readable.

    It is a *table* if its rows come from outside: it has `.input`, or neither rules nor facts. It is
    *derived* if it has rules or facts. A relation that is both is the union of its table and its rules.
    """

    name: str
    schema: Schema
    is_table: bool
    is_derived: bool
    span: Span
    is_hidden: bool = False
    demand: bool | None = None
    """Whether only demanded rows are derived, as declared; None if that is not declared."""
    structures: Mapping[str, str] = field(default_factory=dict)
    """The families of the attributes that are structures, see `deltic.datalog.souffle.functions.structures`."""
    records: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The field names of the record types among these, and of the types that they contain."""
    choices: tuple[tuple[str, ...], ...] = ()
    """The choice domains: for each, the relation has one row for each value of these attributes, the least derived
    one."""
    limit: int | None = None
    """The number of rows at which a recursion through the relation stops."""


@dataclass(frozen=True)
class Directive:
    """`.input`, `.output`, `.printsize` or `.limitsize` of a relation, with its options as written.

    `kind` is the word without the dot. The pragma "hidden" has the kind "hidden".
    """

    kind: str
    relation: str
    options: Mapping[str, str]
    span: Span


@dataclass(frozen=True)
class CheckedRule:
    """One head and one conjunction: the head's row is derived for each binding for which all of the body holds.

    The body consists of atoms, negated atoms, comparisons, tests, negated tests and truth values. `span` is the
    position of the statement.
    """

    head: BodyAtom
    body: tuple[BodyFormula, ...]
    variables: Mapping[str, Type]
    types: Mapping[Span, Type]
    span: Span

    def type_of(self, expression: Expression) -> Type:
        """Return the type of an expression of this rule."""
        if isinstance(expression, Variable):
            return self.variables[expression.name]
        return self.types[expression.span]


@dataclass(frozen=True)
class Application:
    """The application of a Python operator to relations, at its first mention."""

    custom: CustomOperator
    inputs: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class CheckedProgram:
    """All programs of one namespace, in normal form.

    `others` are the relations of the catalog that rules may read. `strata` are the sets of mutually recursive relations
    in dependency order. `helpers` are the recursive relations that shrink while the others of their stratum grow, or
    that are `applied`, in dependency order. `inlined` are relations whose rules are expanded in others; `functions` are
    the Python functions by their names in lower case. `applied` maps relations that Python operators derive, which are
    among the `others`, to these applications. `subsumed` are the relations of all and of the dominated rows of each
    relation with subsumption. `warnings` are about likely mistakes. Numbers have `word_size` bits, 32 or 64.
    """

    relations: Mapping[str, CheckedRelation]
    others: Mapping[str, ZSetType]
    directives: tuple[Directive, ...]
    rules: tuple[CheckedRule, ...]
    strata: tuple[tuple[str, ...], ...]
    helpers: tuple[str, ...] = ()
    inlined: tuple[str, ...] = ()
    applied: Mapping[str, Application] = field(default_factory=dict)
    subsumed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    word_size: int = 64
