"""What the front ends of a pipeline have defined, and the catalog that it makes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from deltic.catalog import Catalog, Definition, Part, Table, View
from deltic.catalog.definitions import check_columns, check_name
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Sink
from deltic.circuit.types import ZSetType
from deltic.datalog import CheckedProgram, Program, check, declared_types, define
from deltic.datalog.edits import defined, replacing, without
from deltic.errors import CatalogError
from deltic.sql.names import find_name, spelt
from deltic.sql.statements.program import SqlProgram
from deltic.sql.statements.statements import CreateTable, CreateView, DeclareView, Drop, Statement

PYTHON = "Python"


@dataclass(frozen=True)
class Definitions:
    """Datalog programs, SQL's statements, and the tables and views that Python gave. A change makes another value."""

    programs: tuple[Program, ...] = ()
    python: Part = field(default_factory=lambda: Part(PYTHON))
    sql: SqlProgram = field(default_factory=SqlProgram)

    @cached_property
    def checked(self) -> CheckedProgram:
        """The Datalog programs, checked together; raises ProgramError with all findings."""
        return check(self.programs, {**_types(self.python), **_types(self._sql_part)})

    @cached_property
    def catalog(self) -> Catalog:
        """All definitions together; raises ProgramError or CatalogError when they are wrong."""
        return Catalog((self.python, self._sql_part, define(self.checked)))

    def check(self) -> None:
        """Raises ProgramError or CatalogError when definitions are wrong, or do not go together."""
        _ = self.catalog

    @cached_property
    def _sql_part(self) -> Part:
        """What SQL has defined, over the relations of Python, and those of Datalog as they are declared."""
        return self.sql.part(self._others)

    @cached_property
    def _others(self) -> Mapping[str, ZSetType]:
        return {**_types(self.python), **declared_types(self.programs)}

    def adding(self, program: Program) -> Definitions:
        """With a Datalog program beside the others."""
        return replace(self, programs=(*self.programs, program))

    def replacing(self, program: Program) -> Definitions:
        """With a Datalog program whose relations take the place of those of the same names."""
        programs = tuple(replacing(self.programs, program))
        gone = defined(program)
        return Definitions(programs, _part_without(self.python, gone), self.sql.without(gone))

    def defining(self, statement: Statement) -> Definitions:
        """With what a statement of SQL defines, or without what it drops. Raises ProgramError."""
        assert isinstance(statement, CreateTable | CreateView | DeclareView | Drop)
        if isinstance(statement, Drop):
            return self._after_drop(statement)
        there = spelt(statement.name.name, [*self._others, *self.sql.names])
        if isinstance(statement, DeclareView):
            self._check_free(statement, there)
            return replace(self, sql=self.sql.with_declared(statement))
        if isinstance(statement, CreateView) and there and there[0] in self.sql.undefined:
            return replace(self, sql=self.sql.with_view(statement.called(there[0])))
        if there and statement.unless_there:
            self._check_kind(statement, there[0])
            return self
        if isinstance(statement, CreateTable):
            self._check_free(statement, there)
            return replace(self, sql=self.sql.with_table(statement.table))
        if not there or not statement.replaces:
            self._check_free(statement, there)
            return replace(self, sql=self.sql.with_view(statement))
        (name,) = there
        self._check_kind(statement, name)
        before = self if name in self.sql.names else self._without([name])
        return replace(before, sql=before.sql.with_view(statement.called(name)))

    def _after_drop(self, statement: Drop) -> Definitions:
        there = spelt(statement.name.name, self.catalog.relations)
        if not there and statement.if_there:
            return self
        if there:
            self._check_kind(statement, there[0])
        known = self.catalog.views if statement.kind == "view" else self.catalog.tables
        name = find_name(statement.name, statement.kind, known, statement.source)
        readers = self.catalog.dependents(name)
        if readers and not statement.cascade:
            told = f"{name} cannot be dropped: {', '.join(readers)} read{'s' * (len(readers) == 1)} it"
            raise statement.source.error(statement.name, told, "drop what reads it first, or write CASCADE")
        return self._without([name, *readers])

    def _check_free(self, statement: CreateTable | CreateView | DeclareView, there: Sequence[str]) -> None:
        if there:
            kind = "view" if there[0] in self.catalog.views else "table"
            remedy = "or write CREATE OR REPLACE VIEW" if kind == "view" else "or DROP that one first"
            told = f"there is a {kind} {there[0]} already"
            raise statement.source.error(statement.name, told, f"choose another name, {remedy}")

    def _check_kind(self, statement: CreateTable | CreateView | Drop, name: str) -> None:
        """Raises ProgramError where a relation is no table or view as a statement says."""
        kind = "view" if name in self.catalog.views else "table"
        if kind != statement.kind:
            remedy = f"write DROP {kind.upper()}" if isinstance(statement, Drop) else "choose another name"
            raise statement.source.error(statement.name, f"{name} is a {kind}", remedy)

    def with_table(self, table: Table) -> Definitions:
        """With a table; raises CatalogError when its name is taken."""
        self.catalog.check_free(table.name)
        return replace(self, python=replace(self.python, tables=(*self.python.tables, table)))

    def with_view(self, definition: Definition, replaces: bool) -> Definitions:
        """With a view, which takes the place of one of the same name when it `replaces` it."""
        if not replaces:
            for name in definition.names:
                self.catalog.check_free(name)
        before = self._without(definition.names) if replaces else self
        definitions = (*before.python.definitions, definition)
        return replace(before, python=replace(before.python, definitions=definitions))

    def dropping(self, names: Collection[str]) -> Definitions:
        """Without these relations; raises CatalogError when others read them."""
        self.catalog.check_unread(names)
        return self._without(names)

    def _without(self, names: Collection[str]) -> Definitions:
        programs = tuple(without(self.programs, names))
        return Definitions(programs, _part_without(self.python, names), self.sql.without(names))


def view_definition(name: str, given: Circuit | str, is_hidden: bool) -> Definition:
    """The definition of a view by a circuit, or its text: the sink of that name, or the one that there is.

    Raises ProgramError where the text cannot be read, CatalogError where the circuit is not that of a view.
    """
    check_name(name)
    if isinstance(given, str):
        from deltic.circuit.reading.parser import parse_circuit

        circuit = parse_circuit(given, f"<{name}>")
    else:
        circuit = given
    sinks = list(circuit.sinks)
    if name not in sinks and len(sinks) != 1:
        found = f"the sinks {', '.join(sinks)}" if sinks else "no sink"
        raise CatalogError(f"view {name}: its circuit has {found}; name one of them {name}")
    part = _named(circuit.part(name if name in sinks else sinks[0]), name)
    type_ = part.type_of(part.sinks[name])
    check_columns(name, type_.schema)
    return Definition((View(name, type_, is_hidden, str(part)),), part)


def _named(circuit: Circuit, name: str) -> Circuit:
    """The circuit of one sink with that name for it."""
    nodes = (replace(n, operator=ops.Sink(name)) if isinstance(n.operator, Sink) else n for n in circuit.nodes)
    return Circuit(tuple(nodes), circuit.depth)


def _types(part: Part) -> dict[str, ZSetType]:
    """What a definition may rely on of each relation of a part."""
    return {**{t.name: t.type for t in part.tables}, **{view.name: view.type for view in part.views}}


def _part_without(part: Part, names: Collection[str]) -> Part:
    tables = tuple(table for table in part.tables if table.name not in names)
    definitions = tuple(d for d in part.definitions if not set(names).intersection(d.names))
    return replace(part, tables=tables, definitions=definitions)
