"""Calls of functions that SQL has made: parameters are columns beside the rows around the call.

Nothing else of these rows is seen in the body, and no name that WITH defines around the call.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from deltic.errors import count_of
from deltic.sql.queries.rows import Attribute, Rows
from deltic.sql.queries.scope import Scope
from deltic.sql.queries.subqueries import bind, prepared
from deltic.sql.queries.values import Values
from deltic.sql.scalars import Typed, coerced
from deltic.sql.scalars.functions.written import SqlFunction, function_called
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.translate import arguments, returned
from deltic.sql.types import is_assignable, written


def value_called(call: exp.Expression, values: Values) -> Typed:
    """The value of a function whose body has subqueries, for each of the rows."""
    function = function_called(call.name)
    assert function is not None
    if function.is_table:
        raise values.scope.source.error(call, f"{function.name} returns a table", "write it in FROM")
    inner = _with_parameters(function, call, values)
    value = inner.typed(prepared(function.body, inner))
    values.go_on(inner.rows.node)
    return returned(function, value)


def rows_called(node: exp.Expression, left: Rows, scope: Scope) -> Rows | None:
    """The rows of a function in FROM, which may take values of the rows to the left; None for another node."""
    call = node.this if isinstance(node, exp.Table | exp.Lateral) else None
    if not isinstance(call, exp.Anonymous) or (function := function_called(call.name)) is None:
        return None
    if not function.is_table:
        raise scope.source.error(call, f"{function.name} returns a value, not a table", "write it in SELECT or WHERE")
    values = Values(left, scope)
    inner = _with_parameters(function, call, values)
    taken = [a.column.name for a in inner.rows.attributes]
    bound = [*scope.bound_names, *(a.column.name for a in left.attributes)]
    around = scope.nodes.distinct(scope.nodes.keep(inner.rows.node, list(dict.fromkeys([*bound, *taken]))))
    rows = bind(Values(inner.rows.over(scope.nodes.keep(around, taken)), inner.scope), function.body)
    found = _as_declared(function, rows, inner.scope)
    return found.over(scope.nodes.join(around, found.node))


def _with_parameters(function: SqlFunction, call: exp.Expression, values: Values) -> Values:
    """The rows around a call with a column for each parameter, which are all that is seen of them."""
    try:
        given = function.given(call.expressions)
        found = arguments(function, {name: values.typed(prepared(part, values)) for name, part in given.items()})
    except Mismatch as mismatch:
        raise values.scope.source.error(call, mismatch.hint) from None
    columns = [values.computed(value, name) for name, value in found.items()]
    names = [parameter.name for parameter in function.parameters]
    attributes = tuple(Attribute(name, c, function.name) for name, c in zip(names, columns, strict=True))
    return Values(Rows(values.rows.node, attributes), _inside(function, values.scope))


def _inside(function: SqlFunction, scope: Scope) -> Scope:
    """The scope of a body, where names mean what they mean without a query around."""
    around = None if scope.around is None else _inside(function, scope.around)
    return replace(scope, source=function.source, named={}, bindings=None, around=around, recursive="")


def _as_declared(function: SqlFunction, rows: Rows, scope: Scope) -> Rows:
    """The rows of a body under the names, and with the types, that the function declares."""
    columns = function.columns or ()
    if not columns:
        return rows
    if len(columns) != len(rows.visible):
        told = f"{function.name} returns {count_of(len(columns), 'column')}, and its query has {len(rows.visible)}"
        raise function.source.error(function.body, told)
    values = Values(rows, scope)
    made = []
    for column, attribute in zip(columns, rows.visible, strict=True):
        value = attribute.typed
        if not (value.is_null or value.type.type is column.type or is_assignable(value.type.type, column.type)):
            told = f"column {column.name} of {function.name} is {written(column.type)}"
            raise function.source.error(function.body, f"{told}, and its query has {written(value.type.type)}")
        made.append(Attribute(column.name, values.column(coerced(value, column.type), column.name)))
    return Rows(values.rows.node, tuple(made))
