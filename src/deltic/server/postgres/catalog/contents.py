"""PostgreSQL's catalog for the tables and views of a pipeline, in a database of DuckDB.

`relations.txt` names its relations and their columns, `contents.sql` has their rows, and `functions.sql` its functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.catalog import Catalog
from deltic.pipeline.sql.answers import statement_of
from deltic.server.postgres.types import TYPES, fields_of

if TYPE_CHECKING:
    import duckdb

    from deltic.server.postgres.settings import Client

Row = Mapping[str, Any]
SCHEMAS = {"pg_catalog": "pg_catalog_", "information_schema": "information_schema_", "deltic": "deltic"}
"""The schemas, and what they are called in DuckDB, which has its own of PostgreSQL's names."""

_TYPES = {
    "": "VARCHAR",
    "b": "BOOLEAN DEFAULT false",
    "i": "INTEGER DEFAULT 0",
    "l": "BIGINT DEFAULT 0",
    "o": "UINTEGER DEFAULT 0",
    "d": "DOUBLE",
    "t": "TIMESTAMPTZ",
    "L": "BIGINT[]",
    "O": "UINTEGER[]",
    "T": "VARCHAR[]",
}
"""What a letter means in `relations.txt`: no oid, no number, no truth is NULL where a row says nothing."""
_OF_TYPES = ("oid", "name", "array", "size", "category")
_QUERY = re.compile(r"^CREATE\b.*?\bAS\s+", re.IGNORECASE | re.DOTALL)
"""What stands before the query of a view."""


class Oids:
    """The oids of tables and views, stable while the server runs; the two after one are those of its key."""

    def __init__(self) -> None:
        self._next = count(16384, 3)
        self._given: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        if name not in self._given:
            self._given[name] = next(self._next)
        return self._given[name]


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def relations() -> Mapping[str, str]:
    """Return the columns of each relation in DuckDB's words, by its name with the schema's."""
    parts = (line.split() for line in _text("relations.txt").splitlines() if not line.startswith("#"))
    return {name: ", ".join(map(_column, columns)) for name, *columns in parts}


def _column(written: str) -> str:
    name, _, letter = written.partition(":")
    return f'"{name}" {_TYPES[letter]}'


def create(database: duckdb.DuckDBPyConnection) -> None:
    """Make the relations, without rows, and the functions."""
    for schema in SCHEMAS.values():
        database.execute(f"CREATE SCHEMA {schema}")
    for name, columns in relations().items():
        database.execute(f"CREATE TABLE {_in_duckdb(name)} ({columns})")
    database.execute(_text("functions.sql"))


def fill(database: duckdb.DuckDBPyConnection, catalog: Catalog, oids: Oids, client: Client) -> None:
    """Fill the relations with the present tables and views."""
    for name in relations():
        database.execute(f"TRUNCATE {_in_duckdb(name)}")
    described: Mapping[str, Iterable[Row]] = {
        "client": [{"database": client.database, "name": client.name}],
        "settings": ({"name": name, "setting": value} for name, value in client.settings),
        "types": ({n: getattr(t, n) for n in _OF_TYPES} | {"written": t.written or t.name} for t in TYPES),
        "relations": _relations(catalog, oids),
        "columns": _columns(catalog, oids),
    }
    for name, rows in described.items():
        if entries := list(rows):
            database.register("entries", pa.Table.from_pylist(entries))
            database.execute(f"INSERT INTO deltic.{name} BY NAME SELECT * FROM entries")
            database.unregister("entries")
    database.execute(_text("contents.sql"))


def _in_duckdb(name: str) -> str:
    schema, _, relation = name.partition(".")
    return f"{SCHEMAS[schema]}.{relation}"


def _relations(catalog: Catalog, oids: Oids) -> Iterator[Row]:
    """Yield the tables and views that can be read; a view with its query, or its program where it is none of SQL."""
    for name, table in catalog.shown_tables.items():
        numbers = [table.schema.names.index(column) + 1 for column in table.key]
        own = {"width": len(table.schema), "key": list(table.key), "key_numbers": numbers, "definition": None}
        yield {"oid": oids[name], "name": name, "kind": "r", **own}
    for name, schema in catalog.view_schemas.items():
        definition = _QUERY.sub("", statement_of(catalog, name))
        own = {"width": len(schema), "key": [], "key_numbers": [], "definition": definition}
        yield {"oid": oids[name], "name": name, "kind": "v", **own}


def _columns(catalog: Catalog, oids: Oids) -> Iterator[Row]:
    for name, schema in {**catalog.table_schemas, **catalog.view_schemas}.items():
        for number, (column, field) in enumerate(zip(schema, fields_of(schema), strict=True), 1):
            own = {"name": column.name, "type": field.oid, "modifier": field.modifier, "nullable": column.nullable}
            yield {"relation": oids[name], "number": number, **own}
