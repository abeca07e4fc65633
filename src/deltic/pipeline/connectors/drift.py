"""Columns of a source that its table does not have: what the option `new_columns` says of them.

"ignore" leaves them out; "add" adds them to the table, NULL in older rows; "refuse" refuses the rows that have them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeAlias

from deltic.catalog import CatalogTable
from deltic.errors import DataError, Diagnostic
from deltic.values.types import Column, Schema

Fields: TypeAlias = Mapping[str, Schema]
"""The columns of what is read next, by the name of the file or table in messages."""


def new_columns(table: CatalogTable, fields: Fields, optional: Collection[str] = ()) -> dict[str, tuple[Column, str]]:
    """Return the columns that a table does not have, nullable, each with where it was seen first.

    Raises DataError where two files disagree on the type of one, or lack a column of the table that is not `optional`.
    """
    result: dict[str, tuple[Column, str]] = {}
    for place, schema in fields.items():
        for name in table.schema.names:
            if name not in schema.names and name not in optional:
                raise DataError([Diagnostic(f"table {table.name}: column {name} is missing", place)])
        for column in schema:
            if column.name in table.schema.names:
                continue
            known, first = result.setdefault(column.name, (replace(column, nullable=True), place))
            if known.type != column.type:
                message = f"the new column {column.name} is {column.type}, and {known.type} in {first}"
                raise DataError([Diagnostic(f"table {table.name}: {message}", place)])
    return result


def refused(table: CatalogTable, found: Mapping[str, tuple[Column, str]]) -> DataError:
    """Return the error for columns that a table does not have."""
    hint = f"new_columns='add' adds it to {table.name}, 'ignore' leaves it out"
    return DataError(
        [
            Diagnostic(f"table {table.name}: there is a new column {column.name} ({column.type})", place, hint=hint)
            for column, place in found.values()
        ]
    )
