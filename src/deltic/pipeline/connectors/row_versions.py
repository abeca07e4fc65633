"""Tables of PostgreSQL, read by the transactions that wrote their rows: the change column is the system column xmin.

A position is the oldest transaction that had not ended: what it commits is read later. Rows written since are read
again, and replace those of their keys. If the table then has another number of rows, rows were deleted, and all are
compared; also if values may have changed without a new row, as by a new column or another partition.
"""

from __future__ import annotations

from dataclasses import replace

from deltic.catalog import CatalogTable
from deltic.engine.image import Json
from deltic.errors import CatalogError
from deltic.pipeline.connectors.advancing import Advance
from deltic.pipeline.connectors.connections import Database, quoted
from deltic.pipeline.connectors.database import DatabaseQuery
from deltic.pipeline.connectors.moments import RANGE, moment_of
from deltic.pipeline.connectors.source import HeldRows, SourceChange, nothing


class RowVersions(DatabaseQuery):
    """A table of PostgreSQL whose position is a transaction."""

    def new(self, table: CatalogTable, position: Json, held: HeldRows, wants_all: bool) -> SourceChange:
        if not table.key:
            raise CatalogError(f"table {table.name}: changed 'xmin' needs a key, by which rows replace others")
        with self._connected() as database:
            database.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            moment = moment_of(database, self._place["table"], "changed 'xmin'")
            at = {"changed": moment.oldest, "of": moment.of}
            is_known = position is not None and position["of"] == moment.of and not wants_all
            is_usable = is_known and 0 <= moment.following - position["changed"] < RANGE // 2
            if is_usable and (result := self._since(database, table, position, held)) is not None:
                return replace(result, position=at)
            rows, rounded = self._rows(table, self._listed(database, table))
        return replace(Advance(table, self._place, None, None).compared_here(rows, None, held, rounded), position=at)

    def _since(self, database: Database, table: CatalogTable, position: Json, held: HeldRows) -> SourceChange | None:
        """Return the changes by rows written since a position; None if rows were deleted, too."""
        first = position["changed"]
        is_since, number = "age(xmin) BETWEEN 0 AND age(CAST(? AS xid))", str(first % RANGE)
        rows, rounded = self._rows(table, self._listed(database, table, is_since, [number]))
        advance = Advance(table, self._place, position, first)
        result = SourceChange(nothing(table.schema), position, advance.how)
        if len(rows):
            result = advance.compared_here(rows, None, held, rounded)
        count = database.run(f"SELECT count(*) FROM {quoted(self._place['table'])}").fetchone()[0]
        kept = held.version.count(table.name, table=True) + result.inserted - result.deleted
        return result if kept == count else None
