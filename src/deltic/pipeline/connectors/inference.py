"""Infers the columns of tables from their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltic.catalog import CatalogTable, External
from deltic.errors import DelticError
from deltic.pipeline.connectors.kinds import source_of
from deltic.sql.names import spelt
from deltic.sql.statements.statements import CreateTable
from deltic.sql.text import span_of
from deltic.sql.types import written
from deltic.values.types import Schema


def columns_of(place: External, given: Any = None, spark: Any = None) -> Schema:
    """Return the columns of a source. Raises CatalogError, or the errors of reading it."""
    return source_of(place, given, spark, None, None).columns()


def with_columns(text: str, statements: Sequence[CreateTable], tables: Mapping[str, CatalogTable]) -> str:
    """Return the SQL text with the columns of these statements' tables.

    They are those of the existing table with this source, or else those of the source.
    """
    for statement in reversed(statements):
        place = statement.table.source
        assert place is not None
        known = [tables[name] for name in spelt(statement.name.name, tables) if tables[name].source == place]
        try:
            schema = known[0].schema if known else columns_of(place)
        except DelticError as error:
            raise statement.source.error(statement.name, str(error)) from error
        span = span_of(statement.name)
        assert span is not None
        text = f"{text[: span[1]]} ({_columns(schema)}){text[span[1] :]}"
    return text


def _columns(schema: Schema) -> str:
    return ", ".join(f"`{c.name}` {written(c.type)}{'' if c.nullable else ' NOT NULL'}" for c in schema)
