"""ORDER BY with LIMIT and OFFSET: top-k, for all rows or for each binding."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions.meaning import evaluate
from deltic.errors import count_of
from deltic.sql.queries.levels import stopped
from deltic.sql.queries.rows import QueryColumn, QueryRows, variables_alone
from deltic.sql.queries.scope import QueryScope
from deltic.sql.queries.subqueries import prepared
from deltic.sql.queries.trees import replaced
from deltic.sql.queries.values import BlockValues
from deltic.sql.scalars import NULL, typed
from deltic.sql.scalars.comparing import key as key_of
from deltic.sql.types import check_order
from deltic.values.types import Column


def limited(
    query: exp.Expression,
    rows: QueryRows,
    scope: QueryScope,
    values: BlockValues | None = None,
    keys: Sequence[exp.Expression] | None = None,
) -> QueryRows:
    """Apply ORDER BY, LIMIT and OFFSET; ORDER BY alone is for the LIMIT of a query around it.

    `values` are those of the block, in which the order may be by what is not selected, and `keys` what ORDER BY is over
    them.
    """
    limit, offset = limit_of(query), query.args.get("offset")
    order_by = query.args.get("order")
    ordered = keys if keys is not None else [of_first(key, query) for key in order_by.expressions] if order_by else ()
    result = values or BlockValues(rows, scope)
    order = [each for key in ordered if isinstance(key, exp.Ordered) for each in _orders(key, rows, result)]
    if order:
        rows = rows.in_order(order, {name: name for name in rows.names})
    if limit is None and offset is None:
        return rows
    order = order or list(result.rows.order)
    number = None if limit is None else _count(limit, scope)
    skipped = 0 if offset is None else _count(offset, scope)
    source = result.rows.node
    is_plain = not order and not scope.bound_names
    early = stopped(scope.nodes, source, number + skipped) if is_plain and number is not None else None
    if early is not None:
        source, level = early
        order = [ops.Order(level)]
    read = [*scope.bound_names, *rows.names]
    stored = dict.fromkeys([*read, *(by.column for by in order)])  # ties are broken by these, too, and by no others
    top = ops.Top(scope.bound_names, tuple(order), number, skipped)
    node = scope.nodes.builder.add(top, scope.nodes.keep(source, list(stored)))
    return rows.over(scope.nodes.keep(node, read))


def limit_of(query: exp.Expression) -> exp.Expression | None:
    """LIMIT, or FETCH FIRST; LIMIT ALL is none."""
    limit: exp.Expression | None = query.args.get("limit")
    is_all = isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Var) and limit.expression.name == "ALL"
    return None if is_all else limit


def first_of_each(
    parts: Sequence[exp.Expression], rows: QueryRows, values: BlockValues, order: Sequence[exp.Expression]
) -> int:
    """DISTINCT ON: the first row in order among those with equal values of `parts`."""
    keys = [values.column(key_of(values.typed(prepared(part, values))), "part").name for part in parts]
    result = tuple(_order(key, rows, values) for key in order if isinstance(key, exp.Ordered))
    top = ops.Top(tuple(dict.fromkeys((*values.scope.bound_names, *keys))), result, 1, 0)
    return values.scope.nodes.builder.add(top, values.rows.node)


def is_all(key: exp.Expression) -> bool:
    """Return whether a key of the order is ALL, which stands for all columns of the result."""
    return isinstance(key.this, exp.Var) and key.this.name.upper() == "ALL"


def _orders(key: exp.Ordered, rows: QueryRows, values: BlockValues) -> list[ops.Order]:
    """One key of the order, or those that ALL stands for."""
    if not is_all(key):
        return [_order(key, rows, values)]
    descending, nulls_first = bool(key.args.get("desc")), bool(key.args.get("nulls_first"))
    return [ops.Order(_by(a, values).name, descending, nulls_first) for a in rows.visible]


def _order(key: exp.Ordered, rows: QueryRows, values: BlockValues) -> ops.Order:
    """One key of the order, as a column: of the result by its number or name, or computed."""
    by = key.this
    selected = _selected(by, rows, values.scope)
    column = _by(selected, values) if selected else values.column(key_of(values.typed(prepared(by, values))), "order")
    values.scope.nodes.words.write([column.name], key.this, values.scope.source)
    check_order(column.type, key, "ORDER BY", values.scope.source)
    return ops.Order(column.name, bool(key.args.get("desc")), bool(key.args.get("nulls_first")))


def _by(selected: QueryColumn, values: BlockValues) -> Column:
    """Return the column by which one of the result orders rows: that itself, or keys of its collation."""
    return values.column(key_of(selected.typed), "order") if selected.is_collated else selected.column


def of_first(key: exp.Expression, query: exp.Expression) -> exp.Expression:
    """Return a key of the order of what a query selects, in which `t.a` is the column a that the first SELECT has
    of t.
    """
    first = query
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select) or not first.args.get("from_"):
        return key
    items = [first.args["from_"].this, *(join.this for join in first.args.get("joins") or ())]
    relations = {item.alias_or_name.lower() for item in items}
    names = {(e.text("table").lower(), "*" if e.is_star else e.name.lower()) for e in first.expressions}

    def is_selected(part: exp.Expression) -> bool:
        table, name = part.text("table").lower(), part.name.lower()
        ways = {(table, name), (table, "*"), *((("", name), ("", "*")) if table in relations else ())}
        return isinstance(part, exp.Column) and bool(table) and not ways.isdisjoint(names)

    return replaced(key, is_selected, lambda part: exp.Column(this=part.this.copy()))


def ordinal(key: exp.Expression) -> int | None:
    """Return the number by which a key of an order, of groups or of DISTINCT ON means a selected expression."""
    sign = -1 if isinstance(key, exp.Neg) else 1
    number = key.this if isinstance(key, exp.Neg) else key
    return sign * int(number.name) if isinstance(number, exp.Literal) and number.is_int else None


def _selected(key: exp.Expression, rows: QueryRows, scope: QueryScope) -> QueryColumn | None:
    """Return the column of the result that a key names."""
    index = ordinal(key)
    if index is not None:
        if not 1 <= index <= len(rows.visible):
            has = count_of(len(rows.visible), "column")
            raise scope.source.error(key, f"ORDER BY {index}: the query has {has}")
        return rows.visible[index - 1]
    if isinstance(key, exp.Column) and not key.table:
        result = [a for a in rows.visible if a.name.lower() == key.name.lower()]
        return result[0] if len({a.column.name for a in result}) == 1 else None
    return None


def _count(node: exp.Expression, scope: QueryScope) -> int:
    """Return the number of LIMIT, FETCH or OFFSET, a constant."""
    number = node.args.get("count") if isinstance(node, exp.Fetch) else node.expression
    message = f"{type(node).__name__.upper()} takes a number that is not negative"
    hint = "write the number itself, or an expression of constants"
    result = NULL if number is None else typed(number, variables_alone(scope.source, message, hint), scope.source)
    value = evaluate(result.expression, {}, {}) if result.type.type.is_integer else None
    if value is None or value < 0:
        raise scope.source.error(number or node, message, hint)
    return int(value)
