"""The functions that DuckDB evaluates, over Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from sqlglot import exp

from deltic.circuit.expressions.casts import cast
from deltic.circuit.expressions.inference import type_of
from deltic.circuit.expressions.literals import is_literal
from deltic.circuit.expressions.text import show
from deltic.circuit.expressions.trees import column, operands_of
from deltic.duck import of_thread
from deltic.functions import function_of, is_call
from deltic.lazy import pa
from deltic.values.types import Type


def over_columns(node: exp.Expression) -> exp.Expression:
    """Return the call with its operands replaced by columns a0, a1, …; literals are kept."""
    node = node.copy()
    for i, operand in enumerate(operands_of(node)):
        if not is_literal(operand):
            operand.replace(column(f"a{i}"))
    return node


@lru_cache(maxsize=1024)
def takes_pattern(text: str) -> bool:
    """Whether DuckDB accepts a text as a regular expression."""
    import duckdb

    try:
        of_thread().execute("SELECT regexp_matches('', ?)", [text]).fetchall()
    except duckdb.Error:
        return False
    return True


def computed(
    node: exp.Expression, operands: Sequence[pa.ChunkedArray | pa.Array], types: Sequence[Type], result: Type
) -> pa.Array:
    """Return the values of nested function calls, NULL where they are undefined.

    The calls read the operands, of these types, as columns a0, a1, …; these may contain NULL.
    """
    return queried(sql_of(node, types, result), operands, result)


def sql_of(node: exp.Expression, types: Sequence[Type], result: Type) -> str:
    """Return the DuckDB SQL of nested calls of columns a0, a1, … of these types, for `queried`."""
    sql, _ = _sql(node, {f"a{i}": type_ for i, type_ in enumerate(types)})
    is_span = result is Type.DAY_TIME_INTERVAL  # which DuckDB gives as months, days and nanoseconds
    return f"epoch_us({sql})" if is_span else sql


def queried(sql: str, operands: Sequence[pa.ChunkedArray | pa.Array], result: Type) -> pa.Array:
    """Return the values of an expression over columns a0, a1, …, in the Arrow type of its result."""
    columns = {f"a{i}": operand for i, operand in enumerate(operands)}
    rows = len(operands[0]) if operands else 1
    return _queried(sql, pa.table({**columns, "row": pa.array(range(rows))})).cast(result.arrow)


def _sql(node: exp.Expression, types: Mapping[str, Type]) -> tuple[str, Type]:
    """Return the DuckDB SQL of nested calls and the type of its value; NULL where DuckDB would raise an error."""
    if not is_call(node):
        type_ = type_of(node, types)
        return show(cast(node.copy(), type_) if type_.is_integer else node), type_
    operands = [_sql(operand, types) for operand in operands_of(node)]
    function = function_of(node)
    of = [type_ for _, type_ in operands]
    return f"({function.sql([text for text, _ in operands], of)})", function.type(node, of)


def _queried(sql: str, table: pa.Table) -> pa.Array:
    """Return the values of an expression over the columns of a table."""
    connection = of_thread()
    connection.register("operands", table)
    try:
        result: pa.Table = connection.sql(f"SELECT {sql} AS r FROM operands").to_arrow_table()
    finally:
        connection.unregister("operands")
    column = result.column("r")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
