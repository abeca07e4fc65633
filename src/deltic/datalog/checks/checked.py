"""A program without errors: what lowering and everyone else may rely on."""

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
    from deltic.circuit.custom import CustomOperator, OfPython


@dataclass(frozen=True)
class CheckedRelation:
    """A relation of the program. A *hidden* one is derived for other rules alone: nobody reads it.

    It is a *table* when rows come from outside: it has `.input`, or neither rules nor facts. It is
    *derived* when it has rules or facts. One that is both is the union of its table and its rules.
    """

    name: str
    schema: Schema
    is_table: bool
    is_derived: bool
    span: Span
    is_hidden: bool = False
    demand: bool | None = None
    """Whether only those rows are derived that other rules ask for: as declared, None where nothing was."""
    structures: Mapping[str, str] = field(default_factory=dict)
    """The families of the attributes that are structures, see `deltic.datalog.souffle.functions.structures`."""
    records: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The names of the fields of the record types among these, and of those that they are made of."""
    choices: tuple[tuple[str, ...], ...] = ()
    """Attributes of whose values the relation has one row, the least of those that are derived; one after the other."""
    limit: int | None = None
    """The number of rows from which on a recursion that derives the relation goes no further."""


@dataclass(frozen=True)
class Directive:
    """`.input`, `.output`, `.printsize` or `.limitsize` of a relation, with its options as written.

    `kind` is the word without the dot. The pragma "hidden" is the kind "hidden".
    """

    kind: str
    relation: str
    options: Mapping[str, str]
    span: Span


@dataclass(frozen=True)
class CheckedRule:
    """One head and one conjunction: the head's row is derived for each binding of which all of the body holds.

    The body consists of atoms, negated atoms, comparisons, tests, negated tests and truth values. `span` is the
    statement that says so.
    """

    head: BodyAtom
    body: tuple[BodyFormula, ...]
    variables: Mapping[str, Type]
    types: Mapping[Span, Type]
    span: Span

    def type_of(self, expression: Expression) -> Type:
        """The type of an expression of this rule."""
        if isinstance(expression, Variable):
            return self.variables[expression.name]
        return self.types[expression.span]


@dataclass(frozen=True)
class Application:
    """What an operator of Python makes of relations, as it is first mentioned."""

    custom: CustomOperator
    inputs: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class CheckedProgram:
    """All programs of one namespace, in normal form.

    `others` are the relations of the catalog that rules may read, `strata` the sets of mutually recursive relations,
    each after all that it depends on, `helpers` those that shrink while the others of their stratum grow, or that are
    `applied`, each after the helpers that it depends on. `inlined` are relations whose rules stand in those of others,
    `functions` those of Python that there are to call, by their names in lower case; `applied` is what those on
    relations make, by the names of relations that rules read, which are among the `others`. `warnings` say what is
    likely wrong although it has a meaning. Numbers have `word_size` bits, 32 or 64.
    """

    relations: Mapping[str, CheckedRelation]
    others: Mapping[str, ZSetType]
    directives: tuple[Directive, ...]
    rules: tuple[CheckedRule, ...]
    strata: tuple[tuple[str, ...], ...]
    helpers: tuple[str, ...] = ()
    inlined: tuple[str, ...] = ()
    functions: Mapping[str, OfPython] = field(default_factory=dict)
    applied: Mapping[str, Application] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    word_size: int = 64
