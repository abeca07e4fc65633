"""The columns of a table of a database, from the types that the database gives them."""

from __future__ import annotations

import re

from deltic.errors import CatalogError
from deltic.pipeline.connectors.connections import Database, quoted
from deltic.values.types import Column, Schema, Type

_DIGITS = re.compile(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_POSTGRESQL = {
    "boolean": Type.BOOLEAN,
    "smallint": Type.INT16,
    "integer": Type.INT32,
    "bigint": Type.INT64,
    "real": Type.FLOAT32,
    "double precision": Type.FLOAT64,
    "text": Type.STRING,
    "character": Type.STRING,
    "character varying": Type.STRING,
    "bytea": Type.BINARY,
    "date": Type.DATE,
    "timestamp without time zone": Type.TIMESTAMP_NTZ,
    "time without time zone": Type.TIME,
    "timestamp with time zone": Type.TIMESTAMP,
}
_SQLITE = (
    ("BOOL", Type.BOOLEAN),
    ("DATETIME", Type.TIMESTAMP_NTZ),
    ("TIMESTAMP", Type.TIMESTAMP_NTZ),
    ("DATE", Type.DATE),
    ("INT", Type.INT64),
    ("CHAR", Type.STRING),
    ("CLOB", Type.STRING),
    ("TEXT", Type.STRING),
    ("BLOB", Type.BINARY),
    ("REAL", Type.FLOAT64),
    ("FLOA", Type.FLOAT64),
    ("DOUB", Type.FLOAT64),
)
"""What a type of SQLite has in its name: SQLite's rules of affinity, and what columns are mostly declared as besides.

The first that fits counts.
"""
_TYPES_OF_POSTGRESQL = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = CAST(? AS regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""


def columns_of(database: Database, table: str) -> Schema:
    """Return the columns of a table, each nullable. CatalogError for no table, and for a type that tables lack."""
    if database.scheme == "duckdb":
        rows = database.connection.sql(f"SELECT * FROM {quoted(table)} LIMIT 0")
        return Schema.of_arrow(rows.to_arrow_table().schema)
    columns = tuple(
        Column(name, _type_of(database.scheme, table, name, declared), nullable=True)
        for name, declared in _declared(database, table)
    )
    if not columns:
        raise CatalogError(f"the database has no table {table}")
    return Schema(columns)


def _declared(database: Database, table: str) -> list[tuple[str, str]]:
    """Return the names of the columns, each with the name of its type."""
    if database.scheme == "postgresql":
        cursor = database.run(_TYPES_OF_POSTGRESQL, [quoted(table)])
    else:
        schema, _, name = table.rpartition(".")
        cursor = database.run("SELECT name, type FROM pragma_table_info(?, ?)", [name, schema or "main"])
    return [(name, declared) for name, declared in cursor.fetchall()]


def _type_of(scheme: str, table: str, column: str, declared: str) -> Type:
    digits, name = _DIGITS.search(declared), " ".join(_DIGITS.sub("", declared).split())
    try:
        result = (_postgresql if scheme == "postgresql" else _sqlite)(name, digits)
    except ValueError:
        result = None
    if result is None:
        raise CatalogError(
            f"{table}: column {column} has type {declared or 'none'}, which tables do not have: declare the columns "
            "that are to be read, without new_columns, or read a view of the database that casts it"
        )
    return result


def _postgresql(name: str, digits: re.Match[str] | None) -> Type | None:
    if name.endswith("[]"):
        element = _postgresql(name.removesuffix("[]"), digits)
        return None if element is None else Type.array(element.or_null)
    if name == "numeric" and digits is not None:
        return _decimal(digits)
    return _POSTGRESQL.get(name)


def _sqlite(name: str, digits: re.Match[str] | None) -> Type | None:
    if digits is not None and name.upper() in ("DECIMAL", "NUMERIC"):
        return _decimal(digits)
    return next((type_ for part, type_ in _SQLITE if part in name.upper()), None)


def _decimal(digits: re.Match[str]) -> Type:
    """Return decimals of this many digits; ValueError where they cannot be."""
    return Type.decimal(int(digits[1]), int(digits[2] or 0))
