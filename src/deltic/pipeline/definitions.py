"""What the front ends of a pipeline have defined, and the catalog that it makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from deltic.catalog import Catalog, Definition, External, Part, Table, View
from deltic.catalog.clock import CLOCK
from deltic.catalog.definitions import check_columns, check_name
from deltic.catalog.lateness import Lateness
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.operators import Sink
from deltic.circuit.types import ZSetType
from deltic.datalog import CheckedProgram, Program, check, declared_types, define, parse
from deltic.datalog.edits import components, defined, replacing, with_pragmas, without
from deltic.errors import CatalogError, DataError, DelticError, Diagnostic
from deltic.pipeline.outside.declared import Outside, Publication, of_json, to_json
from deltic.sql.names import find_name, spelt
from deltic.sql.statements.program import SqlProgram
from deltic.sql.statements.statements import CreateTable, CreateView, DeclareView, Defining, Drop, Statement

if TYPE_CHECKING:
    from deltic.circuit.custom import OfPython
    from deltic.datalog.ddlog.lowering.program import Lowered
    from deltic.pipeline.flow import Flow

Functions: TypeAlias = "Mapping[str, OfPython]"
Macros: TypeAlias = Mapping[str, str]
PYTHON = "Python"
_DIRECTIVE = re.compile(r"^\s*(\.(decl|input|output|type|comp|init|include)\b|#)", re.MULTILINE)


Edit = Mapping[str, Any]
"""A change of definitions as what was written: JSON that `Definitions.replayed` takes."""


@dataclass(frozen=True)
class Definitions:
    """Programs in Datalog and DDlog, SQL's statements, and what Python gave. A change makes another value.

    `history` are the changes that made it, as texts; `functions` are those of Python, by their names in lower case.
    `pragmas` are put behind each program of Datalog.
    """

    programs: tuple[Program, ...] = ()
    python: Part = field(default_factory=lambda: Part(PYTHON))
    sql: SqlProgram = field(default_factory=SqlProgram)
    history: tuple[Edit, ...] = field(default=(), compare=False)
    functions: Functions = field(default_factory=dict)
    outside: Outside = field(default_factory=Outside)
    ddlog: tuple[Lowered, ...] = ()
    pragmas: Mapping[str, str] = field(default_factory=dict, compare=False)

    def replayed(self, edits: Iterable[Edit]) -> Definitions:
        """With changes that other definitions have in their history; raises what these changes raise."""
        found = self
        for edit in edits:
            found = found._again(dict(edit))
        return found

    def since(self, before: Definitions) -> tuple[Edit, ...]:
        """The changes that lead here from earlier definitions."""
        count = len(before.history)
        return self.history[count:] if self.history[:count] == before.history else self.history

    def _again(self, edit: dict[str, Any]) -> Definitions:
        match edit.pop("do"):
            case "program":
                return program_definitions(**edit, before=self)
            case "datalog" | "replace" | "ddlog" as how:
                return self._doors[how](**edit)
            case "sql":
                return reduce(Definitions.defining, parse_statements(**edit), self)
            case "table":
                return self.with_table(_read_table(**edit))
            case "view":
                definition = view_definition(edit["name"], edit["text"], edit["hidden"])
                return self.with_view(definition, edit["replaces"])
            case "drop":
                return self.dropping(edit["names"])
            case "attach":
                return self.attaching(edit["name"], None if edit["source"] is None else of_json(edit["source"]))
            case "publish":
                return self.publishing(Publication(edit["view"], of_json(edit["to"]), edit["id"]))
            case "unpublish":
                return self.unpublishing(edit["view"], None if edit["to"] is None else of_json(edit["to"]))
            case "function":  # whoever replays has given it
                return self._after(self, "function", **edit)
            case other:
                raise CatalogError(f"a definition was changed by {other!r}, which this Deltic does not know")

    @property
    def _doors(self) -> dict[str, Callable[..., Definitions]]:
        """What adds programs to these, by what it is called in histories."""
        return {"datalog": self.adding, "replace": self.replacing, "ddlog": self.with_ddlog}

    def _after(self, before: Definitions, do: str, **edit: Any) -> Definitions:
        """These, which come about by a change of other ones."""
        return replace(self, history=(*before.history, {"do": do, **edit}))

    @cached_property
    def checked(self) -> CheckedProgram:
        """The Datalog programs, checked together; raises ProgramError with all findings."""
        parts = (self.python, self._sql_part, *self._ddlog_parts)
        return check(self.programs, {name: t for part in parts for name, t in _types(part).items()}, self.functions)

    @cached_property
    def catalog(self) -> Catalog:
        """All definitions together; raises ProgramError or CatalogError when they are wrong."""
        parts = [self._with_sources(part) for part in self._parts]
        reads_clock = any(CLOCK.name in d.sources for part in parts for d in part.definitions)
        marks = tuple(mark for part in parts for table in part.tables if (mark := table.watermark))
        hidden = {"the clock": (CLOCK,) * reads_clock, "lateness": marks}
        return Catalog((*parts, *(Part(front, tables) for front, tables in hidden.items() if tables)))

    @property
    def _parts(self) -> tuple[Part, ...]:
        return (self.python, self._sql_part, *self._ddlog_parts, define(self.checked))

    @property
    def _ddlog_parts(self) -> Sequence[Part]:
        return [lowered.part for lowered in self.ddlog]

    def _with_sources(self, part: Part) -> Part:
        """A part whose tables have the sources that were attached to them."""
        attached = self.outside.attached
        if not any(table.name in attached for table in part.tables):
            return part
        tables = (replace(table, source=attached.get(table.name, table.source)) for table in part.tables)
        return replace(part, tables=tuple(tables))

    def check(self) -> None:
        """Raises ProgramError or CatalogError when definitions are wrong, or do not go together."""
        _ = self.catalog

    @cached_property
    def _sql_part(self) -> Part:
        """What SQL has defined, over the relations of Python, and those of Datalog as they are declared."""
        if not self.functions:
            return self.sql.part(self._others)
        from deltic.sql.scalars.functions.python import knowing

        with knowing(self.functions):
            return self.sql.part(self._others)

    @cached_property
    def _others(self) -> Mapping[str, ZSetType]:
        given = {name: t for part in (self.python, *self._ddlog_parts) for name, t in _types(part).items()}
        return {**given, **declared_types(self.programs)}

    def with_function(self, function: OfPython) -> Definitions:
        """With a function of Python, in the place of one of that name; raises CatalogError for one of SQL's.

        Those that SQL does not see are called as they like.
        """
        from deltic.sql.dialect import taken

        name = function.name.lower()
        check_name(name)
        if function.in_sql and name in taken():
            raise CatalogError(f"there is a function {name} in SQL: choose another name, or make it a deltic.functor")
        return replace(self, functions={**self.functions, name: function})._after(self, "function", name=name)

    def adding(self, text: str, file: str, macros: Macros = MappingProxyType({})) -> Definitions:
        """With a Datalog program beside the others, of whose components it may have instances. Raises ProgramError."""
        program = parse(with_pragmas(text, self.pragmas), file, components(self.programs), macros)
        made = replace(self, programs=(*self.programs, program))
        return made._after(self, "datalog", text=program.source.text, file=program.source.file)

    def with_ddlog(self, text: str, file: str, directories: Sequence[str]) -> Definitions:
        """With a DDlog program, whose modules are sought beside it and in directories. Raises ProgramError.

        Functions of Python are its extern functions of the same names.
        """
        from deltic.datalog.ddlog.check import check
        from deltic.datalog.ddlog.lowering.program import Lowered

        places = [Path(file).parent, *map(Path, directories)]
        functions = {function.name: function.body for function in self.functions.values()}
        made = replace(self, ddlog=(*self.ddlog, Lowered(check(text, file, places, functions))))
        return made._after(self, "ddlog", text=text, file=file, directories=list(directories))

    def replacing(self, text: str, file: str, macros: Macros = MappingProxyType({})) -> Definitions:
        """With a Datalog program whose relations take the place of those of the same names. Raises ProgramError."""
        program = parse(with_pragmas(text, self.pragmas), file, components(self.programs), macros)
        programs = tuple(replacing(self.programs, program))
        gone = defined(program)
        made = replace(self, programs=programs, python=_part_without(self.python, gone), sql=self.sql.without(gone))
        return made._after(self, "replace", text=program.source.text, file=program.source.file)

    def defining(self, statement: Statement) -> Definitions:
        """With what a statement of SQL defines, or without what it drops. Raises ProgramError."""
        made = self._defining(statement)
        edit = {"text": statement.in_place, "file": statement.source.file}
        return self if made is self else made._after(self, "sql", **edit)

    def _defining(self, statement: Statement) -> Definitions:
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
        known = self.catalog.views if statement.kind == "view" else self.catalog.shown_tables
        name = find_name(statement.name, statement.kind, known, statement.source)
        readers = self.catalog.dependents(name)
        if readers and not statement.cascade:
            told = f"{name} cannot be dropped: {', '.join(readers)} read{'s' * (len(readers) == 1)} it"
            raise statement.source.error(statement.name, told, "drop what reads it first, or write CASCADE")
        return self._without([name, *readers])

    def _check_name(self, name: str) -> None:
        """Raises CatalogError when there is a relation of that name."""
        if name in self._others or name in self.sql.names:  # a catalog of all is made for the message alone
            self.catalog.check_free(name)

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
        self._check_name(table.name)
        made = replace(self, python=replace(self.python, tables=(*self.python.tables, table)))
        written = str(Circuit((_source(table),)))
        late = {} if table.lateness is None else {"lateness": [table.lateness.column, table.lateness.length]}
        source = {} if table.source is None else {"source": to_json(table.source)}
        return made._after(self, "table", text=written, key=table.key, bag=table.is_bag, **late, **source)

    @cached_property
    def sources(self) -> Mapping[str, External]:
        """Where the rows of tables come from that are refreshed."""
        return {name: table.source for name, table in self.catalog.shown_tables.items() if table.source}

    def attaching(self, name: str, source: External | None) -> Definitions:
        """With a source for a table, in place of the one that it had; None for the one that its definition names."""
        if self.outside.attached.get(name) == source:
            return self
        made = replace(self, outside=self.outside.attaching(name, source))
        return made._after(self, "attach", name=name, source=None if source is None else to_json(source))

    def publishing(self, publication: Publication) -> Definitions:
        """With a publication, if there is none of that view to that place."""
        if self.outside.of(publication.view, publication.to):
            return self
        made = replace(self, outside=self.outside.publishing(publication))
        to = to_json(publication.to)
        return made._after(self, "publish", view=publication.view, to=to, id=publication.id)

    def unpublishing(self, view: str, to: External | None) -> Definitions:
        """Without the publications of a view, or the one to a place."""
        made = replace(self, outside=self.outside.unpublishing(view, to))
        return made._after(self, "unpublish", view=view, to=None if to is None else to_json(to))

    def with_view(self, definition: Definition, replaces: bool) -> Definitions:
        """With a view, which takes the place of one of the same name when it `replaces` it."""
        if not replaces:
            for name in definition.names:
                self._check_name(name)
        before = self._without(definition.names) if replaces else self
        definitions = (*before.python.definitions, definition)
        made = replace(before, python=replace(before.python, definitions=definitions))
        (view,) = definition.views
        return made._after(self, "view", name=view.name, text=view.text, hidden=view.is_hidden, replaces=replaces)

    def dropping(self, names: Collection[str]) -> Definitions:
        """Without these relations; raises CatalogError when others read them."""
        self.catalog.check_unread(names)
        return self._without(names)._after(self, "drop", names=list(names))

    def _without(self, names: Collection[str]) -> Definitions:
        whole = [name for part in self._ddlog_parts for name in sorted(part.names.intersection(names))]
        if whole:
            raise CatalogError(f"{whole[0]} is of a DDlog program, of which no relation can go alone")
        programs = tuple(without(self.programs, names))
        return replace(
            self,
            programs=programs,
            python=_part_without(self.python, names),
            sql=self.sql.without(names),
            outside=self.outside.without(names),
        )


def view_definition(name: str, given: Circuit | Flow | str, is_hidden: bool) -> Definition:
    """The definition of a view by a circuit, its text, or a flow: the sink of that name, or the one that there is.

    Raises ProgramError where the text cannot be read, CatalogError where the circuit is not that of a view.
    """
    check_name(name)
    if isinstance(given, str):
        from deltic.circuit.reading.parser import parse_circuit

        circuit = parse_circuit(given, f"<{name}>")
    else:
        circuit = given if isinstance(given, Circuit) else given.circuit(name)
    sinks = list(circuit.sinks)
    if name not in sinks and len(sinks) != 1:
        found = f"the sinks {', '.join(sinks)}" if sinks else "no sink"
        raise CatalogError(f"view {name}: its circuit has {found}; name one of them {name}")
    part = _named(circuit.part(name if name in sinks else sinks[0]), name)
    type_ = part.type_of(part.sinks[name])
    check_columns(name, type_.schema)
    return Definition((View(name, type_, is_hidden, str(part)),), part)


def program_of(given: str | Path, before: Definitions, macros: Macros = MappingProxyType({})) -> Definitions:
    """What a program defines, in a file or as text, in SQL or Datalog: a file's name tells which by its end (.sql).

    Datalog's texts have a directive such as `.decl`. Raises DataError for a file that is not text, ProgramError.
    Functions, and what is attached and published, stay as `before`.
    """
    is_text = isinstance(given, str) and ("\n" in given or not Path(given).suffix)
    if is_text:
        language = "datalog" if _DIRECTIVE.search(str(given)) else "sql"
        return program_definitions(str(given), f"<{language}>", language, before, macros)
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError([Diagnostic("the program is not UTF-8 text", str(path))]) from error
    except OSError as error:
        raise DelticError(f"program {path}: {error.strerror or error}") from None
    language = "sql" if path.suffix.lower() == ".sql" else "datalog"
    return program_definitions(text, str(path), language, before, macros)


def program_definitions(
    text: str, file: str, language: str, before: Definitions, macros: Macros = MappingProxyType({})
) -> Definitions:
    """What a program in "sql" or "datalog" defines; raises ProgramError, also for a statement that defines nothing."""
    made = Definitions(functions=before.functions, pragmas=before.pragmas)
    if language == "datalog":
        made = made.adding(text, file, macros)
        text = made.programs[0].source.text
    elif macros:
        raise CatalogError("SQL has no macros: they are for programs in Datalog")
    else:
        text, statements = completed(text, file, before)
        for statement in statements:
            if not isinstance(statement, Defining):
                remedy = "rows come from files; `deltic sql FILE` runs all kinds of statements"
                raise statement.error("a program has definitions alone", remedy)
            made = made.defining(statement)
    made.check()
    made = made._after(Definitions(), "program", text=text, file=file, language=language)
    stays = before.outside.without(before.catalog.relations.keys() - made.catalog.relations.keys())
    return made.replayed(stays.edits())


def completed(text: str, file: str, before: Definitions) -> tuple[str, Sequence[Statement]]:
    """A text of SQL with the columns of tables that have those of their sources, and its statements.

    A table that is there with that source keeps its columns; otherwise the source is asked. Raises ProgramError.
    """
    statements = parse_statements(text, file)
    lacking = [s for s in statements if isinstance(s, CreateTable) and s.lacks_columns]
    if not lacking:
        return text, statements
    from deltic.pipeline.outside.inference import with_columns

    text = with_columns(text, lacking, before.catalog.tables)
    return text, parse_statements(text, file)


def parse_statements(text: str, file: str) -> tuple[Statement, ...]:
    """The statements of a text of SQL."""
    from deltic.sql.statements.parse import parse as parse_sql

    return parse_sql(text, file)


def _source(table: Table) -> Node:
    """The node of a circuit that is a table."""
    return Node(ops.Source(table.name, table.schema, not table.is_bag), (), table.type)


def _read_table(
    text: str,
    key: Sequence[str],
    bag: bool,
    lateness: tuple[str, int] | None = None,
    source: Mapping[str, Any] | None = None,
) -> Table:
    from deltic.circuit.reading.parser import parse_circuit

    (found,) = parse_circuit(text, "<table>").operators
    assert isinstance(found, ops.Source)
    late = None if lateness is None else Lateness(*lateness)
    outside = None if source is None else of_json(source)
    return Table(found.name, found.schema, tuple(key), bag, lateness=late, source=outside)


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
