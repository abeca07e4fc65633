"""The functions outside of the closed core, evaluated by DuckDB over Arrow columns.

Everyday ones have a definition for single values too, in `everyday`: the same, and quicker for few rows.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deltic.circuit.everyday import FLOAT_TEXT, integer_text
from deltic.circuit.expressions import cast, cast_type, operands_of, show, type_of
from deltic.circuit.spark import function_of, is_call
from deltic.circuit.types import Kind, Type

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_local = threading.local()


def _connection() -> duckdb.DuckDBPyConnection:
    """A private in-memory database for this thread."""
    if not hasattr(_local, "connection"):
        import duckdb

        _local.connection = duckdb.connect(":memory:", config={"threads": 1})
        _local.connection.execute("SET TimeZone = 'UTC'")
    connection: duckdb.DuckDBPyConnection = _local.connection
    return connection


def evaluate_function(node: exp.Expression, operands: Sequence[pa.ChunkedArray | pa.Array], result: Type) -> pa.Array:
    """The values of one function node over columns of its operands' values, NULL where undefined.

    `operands` holds one array of n values for each of `operands_of(node)`; n values of type `result` come back.
    """
    import pyarrow as pa

    names = [f"a{i}" for i in range(len(operands))]
    table = pa.table(dict(zip(names, operands, strict=True)))
    call = node.copy()
    for operand, name in zip(operands_of(call), names, strict=True):
        operand.replace(exp.column(name))
    sql = _sql(call, table.schema.types)
    return _queried(sql, table).cast(result.arrow)


def evaluate_call(
    node: exp.Expression, operands: Sequence[pa.ChunkedArray | pa.Array], types: Sequence[Type], result: Type
) -> pa.Array:
    """The values of calls of Spark's functions within one another, with NULLs among those of the operands.

    The calls read the operands, of these types, as the columns a0, a1, ….
    """
    import pyarrow as pa

    names = [f"a{i}" for i in range(len(operands))]
    sql, _ = _call_sql(node, dict(zip(names, types, strict=True)))
    rows = len(operands[0]) if operands else 1
    found = _queried(sql, pa.table({**dict(zip(names, operands, strict=True)), "row": pa.array(range(rows))}))
    return found.cast(result.arrow)


def _call_sql(node: exp.Expression, types: Mapping[str, Type]) -> tuple[str, Type]:
    """DuckDB's SQL of calls, and the type of their value."""
    if not is_call(node):
        type_ = type_of(node, types)
        return show(cast(node.copy(), type_) if type_.is_integer else node), type_
    operands = [_call_sql(operand, types) for operand in operands_of(node)]
    function = function_of(node)
    of = [type_ for _, type_ in operands]
    return f"({function.sql([text for text, _ in operands], of)})", function.type(node, of)


def _queried(sql: str, table: pa.Table) -> pa.Array:
    """The values of an expression over the columns of a table."""
    import pyarrow as pa

    connection = _connection()
    connection.register("operands", table)
    try:
        found: pa.Table = connection.sql(f"SELECT {sql} AS r FROM operands").to_arrow_table()
    finally:
        connection.unregister("operands")
    column = found.column("r")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _sql(call: exp.Expression, types: Sequence[Any]) -> str:
    """The call in DuckDB's SQL, NULL where DuckDB would fail."""
    if isinstance(call, exp.TryCast):
        return _cast(Type.of_arrow(types[0]), cast_type(call), call.to.sql("duckdb"))
    text = call.sql(dialect="duckdb")
    return f"TRY({f'CAST({text} AS BIGINT)' if isinstance(call, exp.Length | exp.StrPosition) else text})"


def _cast(source: Type, target: Type, name: str) -> str:
    """The cast of a0 to the type of that name.

    A text is a number only when it is written as one, and then exactly; a time only when it is of the years 1 to 9999.
    """
    if (source, target) == (Type.STRING, Type.BINARY):
        return "encode(a0)"
    if (source, target) == (Type.BINARY, Type.STRING):
        return "TRY(decode(a0))"
    cast = f"TRY_CAST(a0 AS {name})"
    if source is Type.STRING and target.is_numeric:
        pattern = integer_text(target) if target.is_integer else FLOAT_TEXT
        return f"CASE WHEN regexp_full_match(a0, '{pattern}') THEN {cast} END"
    if source is Type.STRING and target.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return f"CASE WHEN {cast} >= '0001-01-01'::{name} AND {cast} < '9999-12-31'::DATE + 1 THEN {cast} END"
    return cast
