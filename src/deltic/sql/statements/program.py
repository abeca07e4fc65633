"""The tables and views defined in SQL, and their catalog definitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import exp

from deltic.catalog import CatalogTable, CatalogView, FrontEndDefinitions, ViewDefinitions
from deltic.catalog.components import components
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit
from deltic.errors import ProgramError
from deltic.sql.names import Spellings, spelt
from deltic.sql.scalars.functions.written import KNOWN, SqlFunction, Written, reached
from deltic.sql.statements.statements import CreateView, DeclareView
from deltic.values.types import Schema

FRONT = "SQL"
Types = Mapping[str, ZSetType]


@dataclass(frozen=True)
class SqlProgram:
    """Definitions in the order of their texts; immutable, a change makes a new value."""

    tables: tuple[CatalogTable, ...] = ()
    views: tuple[CreateView, ...] = ()
    declared: tuple[DeclareView, ...] = ()
    functions: Written = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The tables and views."""
        views = [*(view.name.name for view in self.declared), *(view.name.name for view in self.views)]
        return [*(table.name for table in self.tables), *dict.fromkeys(views)]

    @property
    def undefined(self) -> list[str]:
        """The views that are declared and not defined yet."""
        defined = {view.name.name for view in self.views}
        return [view.name.name for view in self.declared if view.name.name not in defined]

    def with_table(self, table: CatalogTable) -> SqlProgram:
        """Add a table."""
        return replace(self, tables=(*self.tables, table))

    def with_view(self, view: CreateView) -> SqlProgram:
        """Add or replace a view."""
        kept = [view if view.name.name.lower() == other.name.name.lower() else other for other in self.views]
        return replace(self, views=tuple(kept if view in kept else [*kept, view]))

    def with_declared(self, view: DeclareView) -> SqlProgram:
        """Add a declared view."""
        return replace(self, declared=(*self.declared, view))

    def with_altered(self, name: str, table: CatalogTable) -> SqlProgram:
        """Replace a table by its altered form."""
        return replace(self, tables=tuple(table if other.name == name else other for other in self.tables))

    def with_renamed(self, name: str, to: str) -> SqlProgram:
        """Rename a view in place."""
        views = tuple(view.called(to) if view.name.name == name else view for view in self.views)
        return replace(self, views=views)

    def with_function(self, function: SqlFunction) -> SqlProgram:
        """Add or replace a function."""
        return replace(self, functions={**self.functions, function.name.lower(): function})

    def without_function(self, name: str) -> SqlProgram:
        """Remove a function."""
        return replace(self, functions={n: each for n, each in self.functions.items() if n != name.lower()})

    def callers(self, name: str) -> list[str]:
        """Return the functions and views that call a function directly."""
        functions = [each.name for each in self.functions.values() if name.lower() in each.calls]
        return [*functions, *(view.name.name for view in self.views if name.lower() in view.calls)]

    def without(self, names: Collection[str]) -> SqlProgram:
        """Remove tables and views."""
        return replace(
            self,
            tables=tuple(table for table in self.tables if table.name not in names),
            views=tuple(view for view in self.views if view.name.name not in names),
            declared=tuple(view for view in self.declared if view.name.name not in names),
        )

    def part(self, others: Types) -> FrontEndDefinitions:
        """Return the definitions, where `others` are the relations of other front ends; raises ProgramError.

        Each view is lowered from its text, after those that it reads, so that it uses their present columns.
        """
        known = {**others, **{table.name: table.type for table in self.tables}}
        views = {view.name.name: view for view in self.views}
        declared = {view.name.name: view for view in self.declared}
        definitions = [_declare(declared[name]) for name in self.undefined]
        known |= {view.name: view.type for definition in definitions for view in definition.views}
        spellings, own = Spellings({**known, **views}), Spellings(views)
        reads = {name: own.meant(_read(view)) for name, view in views.items()}
        for names in components(reads):
            group, forward = [views[name] for name in names], {n: declared[n].schema for n in names if n in declared}
            if len(names) > 1 or forward or names[0] in reads[names[0]]:
                definition = _define(group, forward, known)
            else:
                definition = lowered(group[0], known, spellings)
            for view in group:
                _check_refresh(view, definition.circuit)
            known |= {view.name: view.type for view in definition.views}
            definitions.append(definition)
        return FrontEndDefinitions(FRONT, self.tables, definitions, [*self.undefined, *views])


def _read(view: CreateView) -> list[exp.Table]:
    """Return the relations that a view names, and those that the functions name that it calls."""
    called = reached(view.calls, KNOWN.get({}))
    return [*view.read, *(table for function in called for table in function.read)]


def _declare(view: DeclareView) -> ViewDefinitions:
    """Return the definition of a view that is declared and not defined."""
    from deltic.sql.statements.recursion import declared_view

    return declared_view(view)


def _define(views: Sequence[CreateView], declared: Mapping[str, Schema], known: Types) -> ViewDefinitions:
    """Return the definition of views that depend on each other or on their declarations."""
    from deltic.sql.statements.recursion import recursive_views

    own = Spellings(view.name.name for view in views)
    undeclared = [view for view in views if view.name.name not in declared]
    forward = {view.name.name: [n for n in own.meant(_read(view)) if n not in declared] for view in undeclared}
    order = components(forward)
    for group in order:
        if len(group) > 1 or group[0] in forward[group[0]]:
            raise _undeclared(next(view for view in views if view.name.name == group[-1]), group)
    by_name = {view.name.name: view for view in views}
    return recursive_views([by_name[name] for (name,) in order] + [by_name[name] for name in declared], declared, known)


def _check_refresh(view: CreateView, circuit: Circuit) -> None:
    """Raise ProgramError for FULL on a view without recursion, which is always updated by its changes."""
    if view.refresh == "full" and not any(isinstance(operator, ops.Fixpoint) for operator in circuit.operators):
        message = f"REFRESH POLICY FULL of {view.name.name}"
        remedy = "leave it out: an update costs no more than what it touches"
        raise view.source.error(view.name, f"{message}, which is not recursive, is not supported", remedy)


def _undeclared(view: CreateView, names: Sequence[str]) -> ProgramError:
    """Return the error for a recursion in which no view is declared."""
    message = (
        f"view {names[0]} reads itself" if len(names) == 1 else f"the views {', '.join(names)} depend on each other"
    )
    place = next(table for table in _read(view) if spelt(table.name, names))
    remedy = f"write WITH RECURSIVE in it, or DECLARE RECURSIVE VIEW {names[-1]} (columns with types) before it"
    return view.source.error(place, message, remedy)


def lowered(view: CreateView, known: Types, spellings: Spellings) -> ViewDefinitions:
    """Return the definition of one view over relations that are known, with these names. Raises ProgramError."""
    read = {name: known[name] for name in spellings.meant(_read(view)) if name in known}
    are_there = all(spelt(table.name, read) for table in _read(view))
    from deltic.sql.scalars.functions import python

    functions: list[object] = [*sorted(function.entry for function in python.known().values())]
    written = KNOWN.get({})
    functions += reached(view.calls, written) if written else ()
    return _lowered(view, tuple(read.items()), tuple(functions)) if are_there else _lower(view, known)


@lru_cache(maxsize=4096)
def _lowered(
    view: CreateView, read: tuple[tuple[str, ZSetType], ...], functions: tuple[object, ...]
) -> ViewDefinitions:
    """The definition over just what the view reads, which is the same as long as that and functions are."""
    return _lower(view, dict(read))


def _lower(view: CreateView, known: Types) -> ViewDefinitions:
    from deltic.sql.queries import view_circuit

    name = view.name.name
    columns = [column.name for column in view.columns]
    circuit, words, type_ = view_circuit(view.query, known, name, view.source, columns, view.policy)
    return ViewDefinitions((CatalogView(name, type_, text=view.text, place=view.place),), circuit, words)
