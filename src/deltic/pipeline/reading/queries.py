"""Queries in DuckDB's dialect over tables and views, evaluated by DuckDB over Arrow."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltic.duck import in_memory
from deltic.errors import DelticError, did_you_mean
from deltic.values.types import Schema

if TYPE_CHECKING:
    import duckdb

Read = Callable[[str, Sequence[str]], pa.Table]
"""Gives columns of a table or view by their names."""


def answer(text: str, schemas: Mapping[str, Schema], read: Read, external_access: bool = False) -> pa.Table:
    """Answer one query, which may read files with `external_access`; unused columns are not read.

    Raises DelticError with DuckDB's reason.
    """
    import duckdb

    with in_memory(external_access) as connection:
        try:
            used = _used(connection, text, schemas)
            for name in used:
                connection.register(name, schemas[name].to_arrow().empty_table())
            columns = _columns(connection, text)
            for name in used:
                connection.register(name, _table(name, schemas[name], columns, read))
            return connection.sql(text).to_arrow_table()
        except duckdb.Error as error:
            raise DelticError(f"the query cannot be answered: {_message(connection, text, schemas, error)}") from None


def _message(
    connection: duckdb.DuckDBPyConnection, text: str, schemas: Mapping[str, Schema], error: duckdb.Error
) -> str:
    """DuckDB's message about a query, with the user's own text and names."""
    import duckdb

    if (missing := re.search(r"Table with name (\S+) does not exist", str(error))) is not None:
        return f"there is no table or view {missing[1]}; {did_you_mean(missing[1], schemas) or 'CREATE it first'}"
    if isinstance(error, duckdb.PermissionException):
        return f"{str(error).splitlines()[0]}; pipeline.duckdb(…, external_access=True) lets a question read files"
    try:
        connection.sql(text)
    except duckdb.Error as plain:
        return str(plain)
    return str(error)


def _used(connection: duckdb.DuckDBPyConnection, text: str, schemas: Mapping[str, Schema]) -> list[str]:
    """Return the tables and views that a query reads. Raises DelticError for a text that is not one query."""
    import duckdb

    statements = connection.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise DelticError(
            "pipeline.duckdb() answers one SELECT; statements that change something are for pipeline.sql()"
        )
    try:
        named = {name.lower() for name in connection.get_table_names(text)}
    except duckdb.Error:  # what DuckDB cannot tell without the columns
        named = set(re.findall(r"[\w?]+", text.lower()))
    return [name for name in schemas if name.lower() in named]


def _columns(connection: duckdb.DuckDBPyConnection, text: str) -> set[str]:
    """Return the names of the columns that DuckDB's plan reads."""
    (_, plan), *_ = connection.execute(f"EXPLAIN (FORMAT JSON) {text}").fetchall()
    return {column for node in json.loads(plan) for column in _read_below(node)}


def _read_below(node: dict[str, Any]) -> Iterator[str]:
    if node["name"].strip().endswith("ARROW_SCAN"):
        result = node["extra_info"].get("Projections", [])
        yield from [result] if isinstance(result, str) else result
    for child in node["children"]:
        yield from _read_below(child)


def _table(name: str, schema: Schema, columns: set[str], read: Read) -> pa.Table:
    """Return the relation with the values of these columns, and nulls in the unused ones."""
    wanted = [column for column in schema.names if column in columns] or list(schema.names[:1])
    result = read(name, wanted)
    lengths = [len(chunk) for chunk in result.column(0).chunks]
    arrays = [result[c.name] if c.name in wanted else _nulls(lengths, c.type.arrow) for c in schema]
    return pa.table(arrays, names=list(schema.names))


def _nulls(lengths: Sequence[int], type_: pa.DataType) -> pa.ChunkedArray:
    """Chunks of nulls that share the memory of the longest one."""
    nulls = pa.nulls(max(lengths, default=0), type_)
    return pa.chunked_array([nulls.slice(0, length) for length in lengths], type_)
