"""ALTER of tables and views: the new definitions, and the reasons to refuse it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from deltic.catalog import CatalogTable
from deltic.catalog.altering import (
    AddColumn,
    Alteration,
    ChangeType,
    DropColumn,
    RenameColumn,
    RenameTable,
    SetDefault,
    SetKey,
    SetNullable,
    altered,
)
from deltic.catalog.columns import remedy, value_type
from deltic.catalog.lateness import ColumnStorage
from deltic.errors import CatalogError, DelticError, ProgramError
from deltic.pipeline.definitions.definitions import Definitions
from deltic.sql.names import find_name, reads_column, spelt
from deltic.sql.statements.parse_columns import existing_value
from deltic.sql.statements.statements import Altering, AlterTable, AlterView
from deltic.values.types import Column, ValueType

How = Mapping[str, Any]
"""Alterations of a table as JSON: what `alterations_of` takes."""


def altered_by(now: Definitions, statement: Altering) -> Definitions:
    """Return the definitions after an ALTER statement, without a history entry. Raises ProgramError."""
    result = spelt(statement.name.name, now.catalog.relations)
    if not result and isinstance(statement, AlterTable) and statement.if_there:
        return now
    is_view = bool(result) and result[0] in now.catalog.views
    if result and is_view is not isinstance(statement, AlterView):
        kind, other = ("view", "table") if is_view else ("table", "view")
        message = f"{result[0]} is a {kind}"
        hint = f"write ALTER {kind.upper()}" if isinstance(statement, AlterView) or _fits_both(statement) else ""
        raise statement.source.error(statement.name, message, hint or f"a {other} alone can be altered so")
    known = now.catalog.views if isinstance(statement, AlterView) else now.catalog.shown_tables
    name = find_name(statement.name, statement.kind, known, statement.source)
    try:
        if isinstance(statement, AlterTable):
            return with_altered(now, name, statement.alterations)
        return now if statement.to is None else _with_renamed_view(now, name, statement.to.name)
    except CatalogError as error:
        place = statement.place_of(error.column) if isinstance(statement, AlterTable) else statement.name
        raise statement.source.error(place, str(error)) from None


def _fits_both(statement: AlterTable) -> bool:
    """Return whether ALTER VIEW takes what a statement asks of a table."""
    return all(isinstance(alteration, RenameTable) for alteration in statement.alterations)


def with_altered(
    now: Definitions, name: str, alterations: Sequence[Alteration], by_source: bool = False
) -> Definitions:
    """Return the definitions with a table altered. Raises CatalogError where that is impossible or breaks a view."""
    before = now.catalog.shown_tables[name]
    table = altered(before, alterations, by_source)
    for column in (a.name for a in alterations if isinstance(a, SetDefault)):
        _check_default(table, column)
    if table is before:
        return now
    if name in {own.name for own in now.python.tables}:
        tables = tuple(table if own.name == name else own for own in now.python.tables)
        made = replace(now, python=replace(now.python, tables=tables))
    elif name in {own.name for own in now.sql.tables}:
        made = replace(now, sql=now.sql.with_altered(name, table))
    else:
        raise CatalogError(f"table {name} is defined in {now.catalog.front(name)}: change its declaration there")
    _check_readers(now, name, table.name, [column for a in alterations for column in a.names])
    try:
        made.check()
    except DelticError as error:
        raise CatalogError(f"table {name} cannot be altered so, because of its readers: {error}") from None
    return made


def _check_default(table: CatalogTable, name: str) -> None:
    column = next(column for column in table.schema if column.name.lower() == name.lower())
    storing = next((one for one in table.storing if one.column == column.name), ColumnStorage(column.name))
    try:
        existing_value(column, storing)
    except ProgramError as error:
        raise CatalogError(error.diagnostics[0].message) from None


def _check_readers(now: Definitions, name: str, to: str, columns: Sequence[str]) -> None:
    """Raise CatalogError where views name a dropped or renamed column."""
    readers = [view for definition in now.catalog.definitions if name in definition.reads for view in definition.names]
    if to != name:
        now.catalog.check_free(to)
        if readers:
            raise CatalogError(
                f"table {name} cannot be renamed: {_readers(readers)} it; drop or replace what does first"
            )
    queries = {view.name.name: view.query for view in now.sql.views}
    for column in columns:
        result = [view for view in readers if view in queries and reads_column(queries[view], name, column)]
        if result:
            raise CatalogError(
                f"{name}.{column} has to stay: {_readers(result)} it; drop or replace what does first", column
            )


def _readers(views: Sequence[str]) -> str:
    return f"{', '.join(views)} read{'s' * (len(views) == 1)}"


def _with_renamed_view(now: Definitions, name: str, to: str) -> Definitions:
    """Return the definitions with an SQL view renamed that no other definition reads."""
    if name not in now.sql.names:
        raise CatalogError(f"view {name} is defined in {now.catalog.front(name)}: change its definition there")
    if to.lower() != name.lower() or to in now.catalog.relations:
        now.catalog.check_free(to)
    if readers := now.catalog.dependents(name):
        raise CatalogError(f"view {name} cannot be renamed: {_readers(readers)} it; drop or replace what does first")
    if now.published(name):
        raise CatalogError(f"view {name} cannot be renamed: it is published; call unpublish first")
    if any(view.name.name == name for view in now.sql.declared):
        raise CatalogError(f"view {name} cannot be renamed: it was declared by that name; drop it")
    return replace(now, sql=now.sql.with_renamed(name, to))


# What Python says


def altering(now: Definitions, table: str, how: How) -> Definitions:
    """Return the definitions after `Pipeline.alter`; raises CatalogError."""
    made = with_altered(now, table, list(alterations_of(how)), how.get("by_source", False))
    return now if made is now else made.after(now, "alter", table=table, how=how)


def adding_columns(now: Definitions, table: str, columns: Sequence[Column]) -> Definitions:
    """Return the definitions after columns were added to a table because its source has them. Raises CatalogError."""
    how = how_of({column.name: column.value_type for column in columns}, (), {}, {}, {}, {}, None, "")
    return altering(now, table, {**how, "by_source": True})


def alterations_of(how: How) -> Iterator[Alteration]:
    """Yield the alterations for the arguments of `Pipeline.alter`, in order. Raises CatalogError for a wrong type."""
    defaults = dict(how["defaults"])
    yield from (DropColumn(name) for name in how["drop"])
    yield from (RenameColumn(name, to) for name, to in how["rename"].items())
    for name, written in how["types"].items():
        yield ChangeType(name, _value_type(name, written).type, ColumnStorage(name))
    yield from (SetNullable(name, bool(nullable)) for name, nullable in how["nullable"].items())
    for name, written in how["add"].items():
        type_ = _value_type(name, written)
        column, storing = Column(name, type_.type, type_.nullable), ColumnStorage(name, default=defaults.pop(name, ""))
        yield AddColumn(column, storing, existing_value(column, storing))
    yield from (SetDefault(name, default) for name, default in defaults.items())
    if how["key"] is not None:
        yield SetKey(tuple(how["key"]))
    if how["to"]:
        yield RenameTable(how["to"])


def how_of(
    add: Mapping[str, Any],
    drop: Sequence[str],
    rename: Mapping[str, str],
    types: Mapping[str, Any],
    nullable: Mapping[str, bool],
    defaults: Mapping[str, Any],
    key: Sequence[str] | None,
    to: str,
) -> How:
    """Return the arguments of `Pipeline.alter` as JSON for the history, with values as constants of SQL."""

    return {
        "add": {name: str(_value_type(name, type_)) for name, type_ in add.items()},
        "drop": [drop] if isinstance(drop, str) else list(drop),
        "rename": dict(rename),
        "types": {name: str(_value_type(name, type_).type) for name, type_ in types.items()},
        "nullable": dict(nullable),
        "defaults": {n: "" if v is None else exp.convert(v).sql(dialect="spark") for n, v in defaults.items()},
        "key": [key] if isinstance(key, str) else None if key is None else list(key),
        "to": to,
    }


def _value_type(name: str, given: Any) -> ValueType:
    result = value_type(given)
    if result is None:
        raise CatalogError(f"column {name}: there is no type {given!r}; {remedy(given)}")
    return result
