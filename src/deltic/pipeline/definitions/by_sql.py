"""The statements of an SQL text, and the definitions after those that define, alter or drop something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from deltic.catalog import CatalogTable
from deltic.errors import DelticError
from deltic.pipeline.definitions.altering import altered_by
from deltic.pipeline.definitions.definitions import Definitions
from deltic.sql.dialect import taken
from deltic.sql.names import find_name, spelt
from deltic.sql.scalars.functions.python import knowing
from deltic.sql.scalars.functions.written import SqlFunction, reached
from deltic.sql.statements.statements import (
    Altering,
    AlterTable,
    AlterView,
    CreateFunction,
    CreateTable,
    CreateView,
    DeclareView,
    Defining,
    Drop,
    DropFunction,
    Statement,
)
from deltic.sql.text import span_of
from deltic.sql.types import written
from deltic.values.types import Schema

if TYPE_CHECKING:
    from deltic.sql.statements.parameters import Args


def completed(
    text: str, file: str, before: Definitions, args: Args | None = None, outside: bool = True
) -> tuple[str, Sequence[Statement]]:
    """Parse an SQL text, and add the columns of tables that are defined by their source alone.

    A present table with that source keeps its columns; otherwise the source is read. `args` are the values of
    parameters. Raises ProgramError; without `outside` also for a table with an external source.
    """
    from deltic.sql.statements.parse import parse

    statements = parse(text, file, args)
    for statement in statements if not outside else ():
        if isinstance(statement, CreateTable) and statement.table.source is not None:
            message = "a table with rows outside may not be made here: that would read files and addresses"
            raise statement.error(message, "name it in the program that the server begins with")
    text = statements[0].source.text if statements else text
    lacking = [s for s in statements if isinstance(s, CreateTable) and s.lacks_columns]
    if not lacking:
        return text, statements
    text = _with_columns(text, lacking, before.catalog.tables)
    return text, parse(text, file, args)


def _with_columns(text: str, statements: Sequence[CreateTable], tables: Mapping[str, CatalogTable]) -> str:
    """Return the SQL text with the columns of these statements' tables.

    They are those of the existing table with this source, or else those of the source.
    """
    from deltic.pipeline.connectors.kinds import source_of

    for statement in reversed(statements):
        place = statement.table.source
        assert place is not None
        known = [tables[name] for name in spelt(statement.name.name, tables) if tables[name].source == place]
        try:
            schema = known[0].schema if known else source_of(place, None, None, None, None).columns()
        except DelticError as error:
            raise statement.source.error(statement.name, str(error)) from error
        if (at := statement.inside) is not None:
            text = f"{text[:at]}{_declared(schema)}, {text[at:]}"
        else:
            span = span_of(statement.name)
            assert span is not None
            text = f"{text[: span[1]]} ({_declared(schema)}){text[span[1] :]}"
    return text


def _declared(schema: Schema) -> str:
    return ", ".join(f"`{c.name}` {written(c.type)}{'' if c.nullable else ' NOT NULL'}" for c in schema)


def defining(now: Definitions, statement: Statement) -> Definitions:
    """Return the definitions after an SQL statement. Raises ProgramError."""
    made = _defining(now, statement)
    return now if made is now else made.after(now, "sql", text=statement.in_place, file=statement.source.file)


def _defining(now: Definitions, statement: Statement) -> Definitions:
    assert isinstance(statement, Defining)
    if isinstance(statement, Drop):
        return _dropping(now, statement)
    if isinstance(statement, AlterTable | AlterView):
        return _altering(now, statement)
    if isinstance(statement, CreateFunction):
        return _with_function(now, statement)
    if isinstance(statement, DropFunction):
        return _without_function(now, statement)
    there = spelt(statement.name.name, [*now.others, *now.sql.names])
    if isinstance(statement, DeclareView):
        _check_free(now, statement, there)
        return replace(now, sql=now.sql.with_declared(statement))
    if isinstance(statement, CreateView) and there and there[0] in now.sql.undefined:
        return replace(now, sql=now.sql.with_view(statement.called(there[0])))
    if there and statement.unless_there:
        _check_kind(now, statement, there[0])
        return now
    if isinstance(statement, CreateTable):
        _check_free(now, statement, there)
        return replace(now, sql=now.sql.with_table(statement.table))
    if not there or not statement.replaces:
        _check_free(now, statement, there)
        return replace(now, sql=now.sql.with_view(statement))
    (name,) = there
    _check_kind(now, statement, name)
    before = now if name in now.sql.names else now.without([name])
    return replace(before, sql=before.sql.with_view(statement.called(name)))


def _altering(now: Definitions, statement: Altering) -> Definitions:
    result = altered_by(now, statement)
    if not isinstance(statement, AlterView) or statement.query is None:
        return result
    (name,) = spelt(statement.name.name, now.catalog.views)
    return _defining(now, statement.defined(name, now.sql.views))


def _dropping(now: Definitions, statement: Drop) -> Definitions:
    there = spelt(statement.name.name, now.catalog.relations)
    if not there and statement.if_there:
        return now
    if there:
        _check_kind(now, statement, there[0])
    known = now.catalog.views if statement.kind == "view" else now.catalog.shown_tables
    name = find_name(statement.name, statement.kind, known, statement.source)
    readers = now.catalog.dependents(name)
    if readers and not statement.cascade:
        message = f"{name} cannot be dropped: {', '.join(readers)} read{'s' * (len(readers) == 1)} it"
        raise statement.source.error(statement.name, message, "drop what reads it first, or write CASCADE")
    return now.without([name, *readers])


def _check_free(now: Definitions, statement: CreateTable | CreateView | DeclareView, there: Sequence[str]) -> None:
    if there:
        kind = "view" if there[0] in now.catalog.views else "table"
        remedy = f"or DROP {kind.upper()} {there[0]} first"
        if isinstance(statement, CreateTable) and kind == "table":
            remedy += "; IF NOT EXISTS keeps it"
        elif isinstance(statement, CreateView) and kind == "view":
            remedy = "or write CREATE OR REPLACE VIEW"
        message = f"there is a {kind} {there[0]} already"
        raise statement.source.error(statement.name, message, f"choose another name, {remedy}")


def _check_kind(now: Definitions, statement: CreateTable | CreateView | Drop, name: str) -> None:
    """Raise ProgramError where a statement names a view as a table, or a table as a view."""
    kind = "view" if name in now.catalog.views else "table"
    if kind != statement.kind:
        remedy = f"write DROP {kind.upper()}" if isinstance(statement, Drop) else "choose another name"
        raise statement.source.error(statement.name, f"{name} is a {kind}", remedy)


def _with_function(now: Definitions, statement: CreateFunction) -> Definitions:
    """Add an SQL function. Raises ProgramError where its name is taken or its body is wrong."""

    function, source = statement.function, statement.source
    name = function.name.lower()
    if name in now.sql.functions and statement.unless_there:
        return now
    if name in taken() or name in now.functions:
        kind = "of Python" if name in now.functions else "in SQL"
        raise source.error(statement.name, f"there is a function {name} {kind} already", "choose another name")
    if name in now.sql.functions and not statement.replaces:
        hint = "choose another name, or write CREATE OR REPLACE FUNCTION"
        raise source.error(statement.name, f"there is a function {name} already", hint)
    made = replace(now, sql=now.sql.with_function(function))
    if function in reached(function.calls, made.sql.functions):
        remedy = "a recursion is a view: WITH RECURSIVE"
        raise source.error(statement.name, f"{function.name} calls itself, maybe through others", remedy)
    _check_body(made, function)
    return made


def _check_body(made: Definitions, function: SqlFunction) -> None:
    """Raise ProgramError where a call of the function could not be lowered."""
    from deltic.sql.queries import answer_circuit

    nulls = [exp.cast(exp.null(), written(p.type), dialect="spark") for p in function.parameters]
    call = exp.Anonymous(this=function.name, expressions=nulls)
    query = exp.select("*").from_(exp.Table(this=call)) if function.is_table else exp.select(exp.alias_(call, "value"))
    relations = made.catalog.relations
    with knowing(made.functions, made.sql.functions):
        answer_circuit(query, relations, function.name, function.source)


def _without_function(now: Definitions, statement: DropFunction) -> Definitions:
    """Drop an SQL function. Raises ProgramError where there is none, or others call it."""
    if statement.name.name.lower() not in now.sql.functions and statement.if_there:
        return now
    name = find_name(statement.name, "function of SQL", now.sql.functions, statement.source)
    if callers := now.sql.callers(name):
        message = f"{name} cannot be dropped: {', '.join(callers)} call{'s' * (len(callers) == 1)} it"
        raise statement.source.error(statement.name, message, "drop or replace what calls it first")
    return replace(now, sql=now.sql.without_function(name))
