"""What the front ends of a pipeline have defined, and the catalog that it makes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

from deltic.catalog import Catalog, Definition, Part, Table, View
from deltic.catalog.definitions import check_columns, check_name
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.operators import Sink
from deltic.circuit.types import ZSetType
from deltic.datalog import CheckedProgram, Program, check, define
from deltic.datalog.edits import defined, replacing, without
from deltic.errors import CatalogError

PYTHON = "Python"


@dataclass(frozen=True)
class Definitions:
    """Datalog programs, and the tables and views that Python gave. A change makes another value."""

    programs: tuple[Program, ...] = ()
    python: Part = field(default_factory=lambda: Part(PYTHON))

    @cached_property
    def checked(self) -> CheckedProgram:
        """The Datalog programs, checked together; raises ProgramError with all findings."""
        return check(self.programs, _types(self.python))

    @cached_property
    def catalog(self) -> Catalog:
        """All definitions together; raises ProgramError or CatalogError when they are wrong."""
        return Catalog((self.python, define(self.checked)))

    def adding(self, program: Program) -> Definitions:
        """With a Datalog program beside the others."""
        return replace(self, programs=(*self.programs, program))

    def replacing(self, program: Program) -> Definitions:
        """With a Datalog program whose relations take the place of those of the same names."""
        programs = tuple(replacing(self.programs, program))
        return Definitions(programs, _part_without(self.python, defined(program)))

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
        return Definitions(programs, _part_without(self.python, names))


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
