"""The definitions of all front ends, and the catalog that they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from deltic.catalog import Catalog, CatalogTable, External, FrontEndDefinitions, ViewDefinitions
from deltic.catalog.definitions import CLOCK, check_name
from deltic.circuit.edges import ZSetType
from deltic.datalog import CheckedProgram, ParsedProgram, check, declared_types, define, parse
from deltic.datalog.edits import components, defined, replacing, with_pragmas, without
from deltic.datalog.memory import ClauseMemory
from deltic.errors import CatalogError
from deltic.pipeline.connectors.written import Edit, Publication, table_to_json, to_json
from deltic.sql.scalars.functions.python import knowing
from deltic.sql.statements.program import SqlProgram
from deltic.sql.variables import SessionVariable

if TYPE_CHECKING:
    from deltic.circuit.custom import OfPython

Functions: TypeAlias = "Mapping[str, OfPython]"
Macros: TypeAlias = Mapping[str, str]
PYTHON = "Python"


@dataclass(frozen=True)
class Definitions:
    """All programs, SQL statements, and definitions of Python; immutable, a change makes a new value.

    `history` has the changes that led here, as texts; `functions` are Python functions by their lower-case names.
    `attached` are sources that tables got after their definition. `parts` are definitions of front ends of other
    packages. `pragmas` are added to each Datalog program. `memory` caches clauses. It and `variables`,
    those of the session of SQL by their lower-case names, are shared with earlier values.
    """

    programs: tuple[ParsedProgram, ...] = ()
    python: FrontEndDefinitions = field(default_factory=lambda: FrontEndDefinitions(PYTHON))
    sql: SqlProgram = field(default_factory=SqlProgram)
    history: tuple[Edit, ...] = field(default=(), compare=False)
    functions: Functions = field(default_factory=dict)
    attached: Mapping[str, External] = field(default_factory=dict)
    publications: tuple[Publication, ...] = ()
    parts: tuple[FrontEndDefinitions, ...] = ()
    pragmas: Mapping[str, str] = field(default_factory=dict, compare=False)
    memory: ClauseMemory = field(default_factory=ClauseMemory, compare=False, repr=False)
    variables: dict[str, SessionVariable] = field(default_factory=dict, compare=False, repr=False)

    def since(self, before: Definitions) -> tuple[Edit, ...]:
        """Return the changes between earlier definitions and these."""
        count = len(before.history)
        return self.history[count:] if self.history[:count] == before.history else self.history

    def after(self, before: Definitions, do: str, **edit: Any) -> Definitions:
        """Return these definitions with the history of `before` and one more change."""
        return replace(self, history=(*before.history, {"do": do, **edit}))

    @cached_property
    def checked(self) -> CheckedProgram:
        """The Datalog programs, checked together; raises ProgramError with all findings."""
        parts = (self.python, self._sql_part, *self.parts)
        others = {name: t for part in parts for name, t in _types(part).items()}
        return check(self.programs, others, self.functions, self.memory)

    @cached_property
    def catalog(self) -> Catalog:
        """All definitions together; raises ProgramError or CatalogError when they are wrong."""
        parts = [self._with_sources(part) for part in self._parts]
        reads_clock = any(CLOCK.name in d.sources for part in parts for d in part.definitions)
        marks = tuple(mark for part in parts for table in part.tables if (mark := table.watermark))
        hidden = {"the clock": (CLOCK,) * reads_clock, "lateness": marks}
        return Catalog((*parts, *(FrontEndDefinitions(front, tables) for front, tables in hidden.items() if tables)))

    @cached_property
    def plans(self) -> dict[Any, Any]:
        """Plans of statements over these definitions, by their keys; other definitions have other plans."""
        return {}

    @property
    def _parts(self) -> tuple[FrontEndDefinitions, ...]:
        return (self.python, self._sql_part, *self.parts, define(self.checked, self.memory))

    def _with_sources(self, part: FrontEndDefinitions) -> FrontEndDefinitions:
        """Return a part with attached sources entered in its tables."""
        attached = self.attached
        if not any(table.name in attached for table in part.tables):
            return part
        tables = (replace(table, source=attached.get(table.name, table.source)) for table in part.tables)
        return replace(part, tables=tuple(tables))

    def check(self) -> None:
        """Raise ProgramError or CatalogError where definitions are wrong or conflict."""
        _ = self.catalog

    @cached_property
    def _sql_part(self) -> FrontEndDefinitions:
        """The definitions of SQL, over the relations of Python and the declared ones of Datalog."""
        if not (self.functions or self.sql.functions):
            return self.sql.part(self.others)

        with knowing(self.functions, self.sql.functions):
            return self.sql.part(self.others)

    @cached_property
    def others(self) -> Mapping[str, ZSetType]:
        """The edge types that SQL sees of relations of other front ends."""
        given = {name: t for part in (self.python, *self.parts) for name, t in _types(part).items()}
        return {**given, **declared_types(self.programs)}

    def with_function(self, function: OfPython) -> Definitions:
        """Add or replace a Python function; raises CatalogError for the name of an SQL function.

        Functions that SQL does not see may have any name.
        """
        from deltic.sql.dialect import taken

        name = function.name.lower()
        check_name(name)
        if name in self.sql.functions:
            raise CatalogError(f"{name} is already a function of SQL: DROP FUNCTION it first")
        if function.in_sql and name in taken():
            raise CatalogError(f"there is a function {name} in SQL: choose another name, or make it a deltic.functor")
        return replace(self, functions={**self.functions, name: function}).after(self, "function", name=name)

    def adding(self, text: str, file: str, macros: Macros = MappingProxyType({})) -> Definitions:
        """Add a Datalog program, which may use components of earlier ones. Raises ProgramError.

        The same program again changes nothing, so a script may run again on the state that it has made.
        """
        program = parse(with_pragmas(text, self.pragmas), file, components(self.programs), macros)
        if program in self.programs:
            return self
        made = replace(self, programs=(*self.programs, program))
        return made.after(self, "datalog", text=program.source.text, file=program.source.file)

    def with_part(
        self, part: FrontEndDefinitions, language: str, text: str, file: str, options: Mapping[str, Any]
    ) -> Definitions:
        """Add the tables and views of a program in the language of another package."""
        made = replace(self, parts=(*self.parts, part))
        return made.after(self, language, text=text, file=file, **options)

    def replacing(self, text: str, file: str, macros: Macros = MappingProxyType({})) -> Definitions:
        """Add a Datalog program that replaces relations of the same names. Raises ProgramError."""
        program = parse(with_pragmas(text, self.pragmas), file, components(self.programs), macros)
        programs = tuple(replacing(self.programs, program))
        gone = defined(program)
        made = replace(self, programs=programs, python=_part_without(self.python, gone), sql=self.sql.without(gone))
        return made.after(self, "replace", text=program.source.text, file=program.source.file)

    def _check_name(self, name: str) -> None:
        """Raise CatalogError when there is a relation of that name."""
        if name in self.others or name in self.sql.names:  # a catalog of all is made for the message alone
            self.catalog.check_free(name)

    def with_table(self, table: CatalogTable) -> Definitions:
        """Add a table; raises CatalogError where its name is taken."""
        self._check_name(table.name)
        made = replace(self, python=replace(self.python, tables=(*self.python.tables, table)))
        return made.after(self, "table", **table_to_json(table))

    @cached_property
    def sources(self) -> Mapping[str, External]:
        """The sources of tables that have one."""
        return {name: table.source for name, table in self.catalog.shown_tables.items() if table.source}

    def attaching(self, name: str, source: External | None) -> Definitions:
        """Attach a source to a table in place of its present one; None returns to that of the definition."""
        if self.attached.get(name) == source:
            return self
        attached = {table: place for table, place in {**self.attached, name: source}.items() if place is not None}
        made = replace(self, attached=attached)
        return made.after(self, "attach", name=name, source=None if source is None else to_json(source))

    def published(self, view: str, to: External | None = None) -> tuple[Publication, ...]:
        """Return the publications of a view, or the one to a place."""
        return tuple(each for each in self.publications if each.view == view and to in (None, each.to))

    def publishing(self, publication: Publication) -> Definitions:
        """Add a publication, unless that view is already published to that place."""
        if self.published(publication.view, publication.to):
            return self
        made = replace(self, publications=(*self.publications, publication))
        to = to_json(publication.to)
        return made.after(self, "publish", view=publication.view, to=to, id=publication.id)

    def unpublishing(self, view: str, to: External | None) -> Definitions:
        """Remove the publications of a view, or the one to a place."""
        gone = self.published(view, to)
        made = replace(self, publications=tuple(each for each in self.publications if each not in gone))
        return made.after(self, "unpublish", view=view, to=None if to is None else to_json(to))

    def with_view(self, definition: ViewDefinitions, replaces: bool) -> Definitions:
        """Add a view, or replace the one of the same name if `replaces`."""
        if not replaces:
            for name in definition.names:
                self._check_name(name)
        before = self.without(definition.names) if replaces else self
        definitions = (*before.python.definitions, definition)
        made = replace(before, python=replace(before.python, definitions=definitions))
        (view,) = definition.views
        return made.after(self, "view", name=view.name, text=view.text, hidden=view.is_hidden, replaces=replaces)

    def dropping(self, names: Collection[str]) -> Definitions:
        """Drop relations; raises CatalogError where others read them."""
        self.catalog.check_unread(names)
        return self.without(names).after(self, "drop", names=list(names))

    def without(self, names: Collection[str]) -> Definitions:
        """Drop relations without looking for readers; raises CatalogError for a relation of `parts`."""
        for part in self.parts:
            for name in sorted(part.names.intersection(names)):
                raise CatalogError(
                    f"{name} is part of a {part.front} program, whose relations cannot be dropped one by one"
                )
        programs = tuple(without(self.programs, names))
        return replace(
            self,
            programs=programs,
            python=_part_without(self.python, names),
            sql=self.sql.without(names),
            attached={name: source for name, source in self.attached.items() if name not in names},
            publications=tuple(each for each in self.publications if each.view not in names),
        )


def _types(part: FrontEndDefinitions) -> dict[str, ZSetType]:
    """Return the edge types of the relations of a part."""
    return {**{t.name: t.type for t in part.tables}, **{view.name: view.type for view in part.views}}


def _part_without(part: FrontEndDefinitions, names: Collection[str]) -> FrontEndDefinitions:
    tables = tuple(table for table in part.tables if table.name not in names)
    definitions = tuple(d for d in part.definitions if not set(names).intersection(d.names))
    return replace(part, tables=tables, definitions=definitions)
