"""User-defined operators in FROM: `near(TABLE(customer), TABLE(SELECT … ))`, with a relation for each input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deltic.circuit.operators.custom import applied
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.scalars.functions.python import operator_called
from deltic.sql.types import written
from deltic.values.types import Column

if TYPE_CHECKING:
    from deltic.circuit.custom import CustomOperator


def own_operator(node: exp.Expression) -> CustomOperator | None:
    """The user-defined operator that FROM calls, if any."""
    call = node.this if isinstance(node, exp.Table) else None
    return operator_called(call.name) if isinstance(call, exp.Anonymous) else None


def applied_rows(node: exp.Expression, custom: CustomOperator, scope: QueryScope) -> QueryRows:
    """Lower the call of an operator. Raises ProgramError."""
    call, takes = node.this, custom.takes
    given = call.expressions
    if len(given) != len(takes):
        message = f"{custom.name} takes {len(takes)} relation{'s' * (len(takes) != 1)}, not {len(given)}"
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
