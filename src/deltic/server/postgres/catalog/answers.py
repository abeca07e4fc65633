"""Answers to questions about the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.duck import in_memory
from deltic.server.postgres.catalog.contents import Oids, create, fill
from deltic.server.postgres.catalog.questions import in_duckdb
from deltic.server.postgres.errors import PostgresError
from deltic.server.postgres.outcomes import ResultRows
from deltic.server.postgres.types import BY_OID, OID, Field
from deltic.values.types.arrow import type_of_arrow

if TYPE_CHECKING:
    import duckdb

    from deltic.catalog import Catalog
    from deltic.server.postgres.dialect import ClientStatement
    from deltic.server.postgres.settings import Client


class PostgresCatalog:
    """The catalog of a pipeline in PostgreSQL's shape, made on demand."""

    def __init__(self) -> None:
        self._lock, self._oids = Lock(), Oids()
        self._database: duckdb.DuckDBPyConnection | None = None
        self._shown: Catalog | None = None

    def answer(self, catalog: Catalog, client: Client, statement: ClientStatement, args: Sequence[Any]) -> ResultRows:
        """Answer a catalog query. Raises PostgresError with DuckDB's reason."""
        import duckdb

        text = in_duckdb(statement, client)
        with self._lock:
            database = self._current(catalog, client)
            used = sorted(set(statement.parameters))
            values = {str(number): args[number - 1] for number in used}
            try:
                table = _plain(database.sql(text, params=values).to_arrow_table())
            except duckdb.Error as error:
                message = f"the question about the catalog has no answer: {str(error).splitlines()[0]}"
                raise PostgresError("0A000", message) from None
        return ResultRows([_field(field) for field in table.schema], table)

    def _current(self, catalog: Catalog, client: Client) -> duckdb.DuckDBPyConnection:
        """Return the database with the present tables and views."""
        if self._database is None:
            self._database = in_memory().__enter__()
            create(self._database)
        if catalog is not self._shown:
            fill(self._database, catalog, self._oids, client)
            self._shown = catalog
        return self._database


def _plain(table: pa.Table) -> pa.Table:
    """Give a type to columns that hold only NULL."""
    types = [pa.string() if pa.types.is_null(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema([pa.field(n, t) for n, t in zip(table.column_names, types, strict=True)]))


def _field(field: pa.Field) -> Field:
    """Return a column, where 32 bits without sign are an oid."""
    if field.type == pa.uint32():
        return Field(field.name, OID)
    if field.type == pa.list_(pa.uint32()):
        return Field(field.name, BY_OID[OID].array)
    return Field.of(field.name, type_of_arrow(field.type))
