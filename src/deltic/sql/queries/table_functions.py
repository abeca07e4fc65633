"""Calls in FROM: table functions of SQL, and user-defined operators.

The body of a table function is a query, whose arguments may read the rows to the left. An operator takes relations:
`near(TABLE(customer), TABLE(SELECT … ))`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deltic.circuit.operators.custom import applied
from deltic.errors import count_of
from deltic.sql.queries.functions import with_parameters
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.subqueries import bind, prepared
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import coerced
from deltic.sql.scalars.coercion import is_assignable
from deltic.sql.scalars.functions.python import operator_called
from deltic.sql.scalars.functions.written import SqlFunction, function_called
from deltic.sql.types import written
from deltic.values.types import Column

if TYPE_CHECKING:
    from deltic.circuit.custom import CustomOperator


def rows_called(node: exp.Expression, left: QueryRows, scope: QueryScope) -> QueryRows | None:
    """Return the rows of a function in FROM, which may take values of the rows to the left; None for another node."""
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
    """Return the rows of a body, with the names and types that the function declares."""
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


def own_operator(node: exp.Expression) -> CustomOperator | None:
    """Return the user-defined operator that FROM calls, if any."""
    call = node.this if isinstance(node, exp.Table) else None
    return operator_called(call.name) if isinstance(call, exp.Anonymous) else None


def applied_rows(node: exp.Expression, custom: CustomOperator, scope: QueryScope) -> QueryRows:
    """Lower the call of an operator. Raises ProgramError."""
    call, takes = node.this, custom.takes
    given = call.expressions
    if len(given) != len(takes):
        message = f"{custom.name} takes {count_of(len(takes), 'relation')}, not {len(given)}"
        raise scope.source.error(call, message, _written(custom))
    nodes = [_input(argument, custom, place, scope) for place, argument in enumerate(given)]
    made = scope.nodes.builder.add(applied(custom), *nodes)
    return scope.own(QueryRows(made, tuple(QueryColumn(column.name, column) for column in custom.gives)))


def _input(argument: exp.Expression, custom: CustomOperator, place: int, scope: QueryScope) -> int:
    """Lower an input, a table or a query, whose columns match by position."""
    if isinstance(argument, exp.Table):
        rows = scope.rows_of(argument.name, argument)
    elif isinstance(argument, exp.Subquery):
        rows = scope.lower_alone(argument.this)
    else:
        raise scope.source.error(argument, f"{custom.name} takes relations", _written(custom))
    there, wanted = [a.column for a in rows.visible], custom.takes[place].columns
    if len(there) != len(wanted):
        message = f"input {place + 1} of {custom.name} has {_columns(wanted)}, and this has {len(there)} of them"
        raise scope.source.error(argument, message, "name the columns: TABLE(SELECT …)")
    for attribute, result, column in zip(rows.visible, there, wanted, strict=True):
        if result.type is not column.type:
            message = f"{attribute.name} is {written(result.type)}, and {custom.name} takes {written(column.type)} here"
            raise scope.source.error(argument, message, f"cast it: TABLE(SELECT CAST({attribute.name} AS …) … )")
        if result.nullable and not column.nullable:
            message = f"{attribute.name} may be NULL, and {custom.name} takes none here"
            raise scope.source.error(argument, message, f"declare {column.name} with ? in Python, or write coalesce")
    return scope.nodes.keep(rows.node, [column.name for column in there])


def _columns(wanted: tuple[Column, ...]) -> str:
    return f"the column{'s' * (len(wanted) != 1)} {', '.join(f'{c.name} {written(c.type)}' for c in wanted)}"


def _written(custom: CustomOperator) -> str:
    return f"write {custom.name}({', '.join('TABLE(…)' for _ in custom.takes)}), each a name or a query"
