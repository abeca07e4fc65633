"""Tables of databases as sources: by JDBC through Spark, or by Python's database interface."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from typing import Any

from deltic.catalog import CatalogTable, External
from deltic.engine.image import Json
from deltic.errors import CatalogError
from deltic.pipeline.connectors.advancing import Advance, check_change_column, pending, since
from deltic.pipeline.connectors.connections import connected, quoted
from deltic.pipeline.connectors.database_columns import columns_of
from deltic.pipeline.connectors.frames import FrameSource
from deltic.pipeline.connectors.source import ExternalSource, HeldRows, RowsOfSource, SourceChange, filled, new_columns
from deltic.pipeline.connectors.tasks import Tasks
from deltic.pipeline.io.json_values import of_json
from deltic.pipeline.spark.spark import active_session, spark_errors
from deltic.values.types import Column, Kind, Schema


def database_source(place: External, spark: Any, tasks: Tasks | None) -> ExternalSource:
    """Return the source of a table. Spark reads `jdbc:` addresses."""
    return (
        FrameSource(place, lambda: _jdbc(place, spark), tasks)
        if place["url"].startswith("jdbc:")
        else DatabaseQuery(place)
    )


def _jdbc(place: External, spark: Any) -> Any:
    options = {"url": filled(place["url"]), "dbtable": place["table"]}
    if place.get("driver"):
        options["driver"] = place["driver"]
    with spark_errors(lambda reason: CatalogError(f"{place['table']}: {reason}")):
        return active_session(spark).read.format("jdbc").options(**options).load()


class DatabaseQuery:
    """A table that is read by a query. With a change column, a position is its greatest value, as the database returns
    it.
    """

    def __init__(self, place: External) -> None:
        self._place = place

    def columns(self) -> Schema:
        with connected(self._place["url"], external_access=self._place.is_on("external_access")) as database:
            return columns_of(database, self._place["table"])

    def new_columns(self, table: CatalogTable, position: Json) -> dict[str, tuple[Column, str]]:
        return new_columns(table, {str(self._place): self.columns()})

    def pending(self, position: Json) -> str:
        return pending(self._place, position)

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        check_change_column(self._place, table)
        column, last = self._place.get("changed"), None if wants_all else since(position)
        names = ", ".join(map(quoted, table.schema.names))
        text, values = f"SELECT {names} FROM {quoted(self._place['table'])}", []
        if last is not None:
            text, values = f"{text} WHERE {quoted(column)} >= ? OR {quoted(column)} IS NULL", [last]
        with connected(self._place["url"], external_access=self._place.is_on("external_access")) as database:
            listed = database.run(text, values).fetchall()
        types = [c.type for c in table.schema]
        read = RowsOfSource(table, self._place)
        rows = read([tuple(map(value_of, row, types)) for row in listed])
        largest, value = None, None
        if column:
            at = table.schema.names.index(column)
            largest = max((row[at] for row in listed if row[at] is not None), default=None)
            value = None if last is None else value_of(last, types[at])
        kept = largest if largest is None or isinstance(largest, int | float | str) else str(largest)
        return Advance(table, self._place, position, value).compared_here(rows, kept, held, read.taken())


def value_of(value: Any, type_: Any) -> Any:
    """Convert a database value to the column's type. Other values stay the same, and are rejected later."""
    with suppress(ValueError):
        if type_.is_composite and isinstance(value, str):
            return of_json(json.loads(value, parse_float=Decimal), type_)
        if type_.kind is Kind.BINARY:
            return bytes(value) if isinstance(value, memoryview) else value
        return of_json(value, type_)
    return value
