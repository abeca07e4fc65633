"""Tables whose declaration in a program has changed: the rows of the former one fit the new one, or what they lose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from deltic.catalog import CatalogTable
from deltic.catalog.altering import (
    AddColumn,
    Alteration,
    ChangeType,
    MoveColumn,
    SetDefault,
    SetKey,
    SetNullable,
    altered,
)
from deltic.catalog.lateness import ColumnStorage
from deltic.errors import CatalogError
from deltic.sql.statements.parse_columns import existing_value


def grown(former: CatalogTable, table: CatalogTable) -> CatalogTable:
    """Return a new declaration of a table that takes over the rows of the former one.

    Columns may come, have wider types, other defaults and places, and take NULL or forbid it; the key may change.
    Raises CatalogError where rows would lose values.
    """
    if lost := [name for name in former.schema.names if name not in table.schema.names]:
        raise CatalogError(_lost(former.name, lost, [n for n in table.schema.names if n not in former.schema.names]))
    result = altered(former, _alterations(former, table))
    if replace(result, storing=table.storing) != table:
        raise CatalogError(f"{table} could not hold its rows")
    return replace(table, former=result.former)


def _alterations(former: CatalogTable, table: CatalogTable) -> Iterator[Alteration]:
    stored = {each.column: each for each in table.storing}
    was_stored = {each.column: each for each in former.storing}
    types, after = former.schema.types, ""
    is_moved = [name for name in table.schema.names if name in types] != list(former.schema.names)
    if former.key and former.key != table.key:
        yield SetKey(())
    for column in table.schema:
        name = column.name
        storing = stored.get(name, ColumnStorage(name))
        if name not in types:
            yield AddColumn(column, storing, existing_value(column, storing), after)
        else:
            was = was_stored.get(name, ColumnStorage(name))
            if (column.type, replace(storing, default="")) != (types[name], replace(was, default="")):
                yield ChangeType(name, column.type, storing)
            if column.nullable is not former.schema.column(name).nullable:
                yield SetNullable(name, column.nullable)
            if storing.default != was.default:
                yield SetDefault(name, storing.default)
            if is_moved:
                yield MoveColumn(name, after)
        after = name
    if table.key and former.key != table.key:
        yield SetKey(table.key)


def _lost(table: str, lost: list[str], come: list[str]) -> str:
    """Return the message for columns that a program has no longer."""
    drop = f"ALTER TABLE {table} DROP COLUMN {', '.join(lost)};"
    rename = f", or ALTER TABLE {table} RENAME COLUMN {lost[0]} TO {come[0]};" if len(lost) == len(come) == 1 else ""
    return (
        f"the values of {', '.join(lost)} would be lost. Leave its CREATE TABLE as it was, and write after it: "
        f"{drop}{rename}"
    )
