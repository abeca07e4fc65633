"""The functions outside of the closed core, evaluated by DuckDB over Arrow columns."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deltic.circuit.expressions import cast_type, operands_of
from deltic.circuit.types import Type

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_local = threading.local()


def _connection() -> duckdb.DuckDBPyConnection:
    """A private in-memory database for this thread."""
    if not hasattr(_local, "connection"):
        import duckdb

        _local.connection = duckdb.connect(":memory:", config={"threads": 1})
    connection: duckdb.DuckDBPyConnection = _local.connection
    return connection


def evaluate_function(node: exp.Expression, operands: Sequence[pa.ChunkedArray | pa.Array]) -> pa.Array:
    """The values of one function node over columns of its operands' values, NULL where undefined.

    `operands` holds one array of n values for each of `operands_of(node)`; the result has n values.
    """
    import pyarrow as pa

    names = [f"a{i}" for i in range(len(operands))]
    table = pa.table(dict(zip(names, operands, strict=True)))
    call = node.copy()
    for operand, name in zip(operands_of(call), names, strict=True):
        operand.replace(exp.column(name))
    sql = _sql(call, table.schema.types)
    connection = _connection()
    connection.register("operands", table)
    try:
        result: pa.Table = connection.sql(f"SELECT {sql} AS r FROM operands").to_arrow_table()
    finally:
        connection.unregister("operands")
    column = result.column("r")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _sql(call: exp.Expression, types: Sequence[Any]) -> str:
    """The call in DuckDB's SQL, NULL where DuckDB would fail.

    A text is a number only when it is written as one, and then exactly.
    """
    import pyarrow as pa

    if isinstance(call, exp.TryCast) and pa.types.is_string(types[0]) and cast_type(call) in _NUMBERS:
        pattern = _NUMBERS[cast_type(call)]
        return f"CASE WHEN regexp_full_match(a0, '{pattern}') THEN TRY_CAST(a0 AS {call.to.sql('duckdb')}) END"
    text = call.sql(dialect="duckdb")
    return f"TRY({f'CAST({text} AS BIGINT)' if isinstance(call, exp.Length | exp.StrPosition) else text})"


_NUMBERS = {
    Type.INT64: "[+-]?[0-9]+",
    Type.UINT64: "[+]?[0-9]+",
    Type.FLOAT64: "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?",
}
