"""Calls of SQL functions whose bodies are queries: parameters are columns beside the rows around the call.

The body sees nothing else of these rows, and no name that WITH defines around the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import Typed
from deltic.sql.scalars.functions.written import SqlFunction, function_called
from deltic.sql.scalars.operators import Mismatch
from deltic.sql.scalars.translate import arguments, returned

Prepare = Callable[[exp.Expression, BlockValues], exp.Expression]
"""What puts placeholders for the subqueries of an expression; the rows have their values then."""


def value_called(call: exp.Expression, values: BlockValues, prepare: Prepare) -> Typed:
    """Return the value of a function whose body has subqueries, for each of the rows."""
    function = function_called(call.name)
    assert function is not None
    if function.is_table:
        raise values.scope.source.error(call, f"{function.name} returns a table", "write it in FROM")
    inner = with_parameters(function, call, values, prepare)
    value = inner.typed(prepare(function.body, inner))
    values.go_on(inner.rows.node)
    return returned(function, value)


def with_parameters(function: SqlFunction, call: exp.Expression, values: BlockValues, prepare: Prepare) -> BlockValues:
    """Return the rows around a call with a column for each parameter; the body sees only these."""
    try:
        given = function.given(call.expressions)
        result = arguments(function, {name: values.typed(prepare(part, values)) for name, part in given.items()})
    except Mismatch as mismatch:
        raise values.scope.source.error(call, mismatch.hint) from None
    columns = [values.computed(value, name) for name, value in result.items()]
    names = [parameter.name for parameter in function.parameters]
    attributes = tuple(QueryColumn(name, c, function.name) for name, c in zip(names, columns, strict=True))
    return BlockValues(QueryRows(values.rows.node, attributes), _inside(function, values.scope))


def _inside(function: SqlFunction, scope: QueryScope) -> QueryScope:
    """Return the scope of a body, in which names are resolved without the query around it."""
    around = None if scope.around is None else _inside(function, scope.around)
    return replace(scope, source=function.source, named={}, bindings=None, around=around, recursive="")
