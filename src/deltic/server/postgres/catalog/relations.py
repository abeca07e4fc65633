"""The relations of PostgreSQL's catalog, in a database of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

SCHEMAS = {"pg_catalog": "pg_catalog_", "information_schema": "information_schema_"}
"""The schemas of PostgreSQL, and what they are called in DuckDB, which has its own of those names."""

_TYPES = {
    "": pa.string(),
    "b": pa.bool_(),
    "i": pa.int32(),
    "l": pa.int64(),
    "o": pa.uint32(),
    "d": pa.float64(),
    "t": pa.timestamp("us", "UTC"),
    "L": pa.list_(pa.int64()),
    "O": pa.list_(pa.uint32()),
    "T": pa.list_(pa.string()),
}
_MISSING = {pa.bool_(): False, pa.int32(): 0, pa.int64(): 0, pa.uint32(): 0}
"""What stands where a row says nothing: no oid, no number, no truth is NULL then."""

Row = Mapping[str, Any]


@cache
def relations() -> Mapping[str, pa.Schema]:
    """The columns of each relation, by its name with the schema's."""
    lines = files(__package__).joinpath("relations.txt").read_text("utf-8").splitlines()
    parts = (line.split() for line in lines if not line.startswith("#"))
    return {name: pa.schema([_field(column) for column in columns]) for name, *columns in parts}


def _field(written: str) -> pa.Field:
    name, _, letter = written.partition(":")
    return pa.field(name, _TYPES[letter])


def create(database: duckdb.DuckDBPyConnection) -> None:
    """Make the relations, without rows, and the functions."""
    for schema in SCHEMAS.values():
        database.execute(f"CREATE SCHEMA {schema}")
    database.execute("CREATE TABLE pg_catalog_.definitions (oid UINTEGER, written VARCHAR)")
    database.execute("CREATE TABLE pg_catalog_.written (oid UINTEGER, written VARCHAR)")
    for name in relations():
        fill(database, name, ())
    database.execute(files(__package__).joinpath("functions.sql").read_text("utf-8"))


def fill(database: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Row]) -> None:
    """Fill a relation with rows; a missing column is NULL, or the 0 or false of its type."""
    schema, _, relation = name.partition(".")
    columns = relations()[name]
    table = pa.table(
        [pa.array([row.get(c.name, _MISSING.get(c.type)) for row in rows], c.type) for c in columns], schema=columns
    )
    database.register("rows", table)
    database.execute(f"CREATE OR REPLACE TABLE {SCHEMAS[schema]}.{relation} AS SELECT * FROM rows")
    database.unregister("rows")
