"""Definitions after an SQL statement that defines, alters or drops something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deltic.pipeline.definitions.altering import altered_by
from deltic.pipeline.definitions.definitions import Definitions
from deltic.pipeline.definitions.sql_functions import with_function, without_function
from deltic.sql.names import find_name, spelt
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
        return with_function(now, statement)
    if isinstance(statement, DropFunction):
        return without_function(now, statement)
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
        remedy = "or write CREATE OR REPLACE VIEW" if kind == "view" else "or DROP that one first"
        message = f"there is a {kind} {there[0]} already"
        raise statement.source.error(statement.name, message, f"choose another name, {remedy}")


def _check_kind(now: Definitions, statement: CreateTable | CreateView | Drop, name: str) -> None:
    """Raises ProgramError where a statement names a view as a table, or a table as a view."""
    kind = "view" if name in now.catalog.views else "table"
    if kind != statement.kind:
        remedy = f"write DROP {kind.upper()}" if isinstance(statement, Drop) else "choose another name"
        raise statement.source.error(statement.name, f"{name} is a {kind}", remedy)
