"""SQL table functions in FROM: their bodies are queries, whose arguments may read the rows to the left."""

from __future__ import annotations

from sqlglot import exp

from deltic.errors import count_of
from deltic.sql.queries.functions import with_parameters
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.subqueries import bind, prepared
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import coerced
from deltic.sql.scalars.coercion import is_assignable
from deltic.sql.scalars.functions.written import SqlFunction, function_called
from deltic.sql.types import written


def rows_called(node: exp.Expression, left: QueryRows, scope: QueryScope) -> QueryRows | None:
    """The rows of a function in FROM, which may take values of the rows to the left; None for another node."""
    call = node.this if isinstance(node, exp.Table | exp.Lateral) else None
    if not isinstance(call, exp.Anonymous) or (function := function_called(call.name)) is None:
        return None
    if not function.is_table:
        raise scope.source.error(call, f"{function.name} returns a value, not a table", "write it in SELECT or WHERE")
    values = BlockValues(left, scope)
    inner = with_parameters(function, call, values, prepared)
    taken = [a.column.name for a in inner.rows.attributes]
    bound = [*scope.bound_names, *(a.column.name for a in left.attributes)]
    around = scope.nodes.distinct(scope.nodes.keep(inner.rows.node, list(dict.fromkeys([*bound, *taken]))))
    rows = bind(BlockValues(inner.rows.over(scope.nodes.keep(around, taken)), inner.scope), function.body)
    result = _as_declared(function, rows, inner.scope)
    return result.over(scope.nodes.join(around, result.node))


def _as_declared(function: SqlFunction, rows: QueryRows, scope: QueryScope) -> QueryRows:
    """The rows of a body under the names, and with the types, that the function declares."""
    columns = function.columns or ()
    if not columns:
        return rows
    if len(columns) != len(rows.visible):
        message = f"{function.name} returns {count_of(len(columns), 'column')}, and its query has {len(rows.visible)}"
        raise function.source.error(function.body, message)
    values = BlockValues(rows, scope)
    made = []
    for column, attribute in zip(columns, rows.visible, strict=True):
        value = attribute.typed
        if not (value.is_null or is_assignable(value.type.type, column.type)):
            message = f"column {column.name} of {function.name} is {written(column.type)}"
            raise function.source.error(function.body, f"{message}, and its query has {written(value.type.type)}")
        made.append(QueryColumn(column.name, values.column(coerced(value, column.type), column.name)))
    return QueryRows(values.rows.node, tuple(made))
