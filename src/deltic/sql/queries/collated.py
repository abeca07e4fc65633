"""Rows that are compared whole: texts with a collation by its keys; of equal texts the least by bytes is shown."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.sql.queries.rows import QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.scalars.comparing import key
from deltic.values.types import Column


def keyed(rows: QueryRows, scope: QueryScope) -> tuple[int, tuple[str, ...]]:
    """Return the rows with a key for each text with a collation, and the columns in which equal rows agree."""
    nodes = scope.nodes
    keys = {a.column.name: key(a.typed) for a in rows.visible if a.is_collated}
    made = [Column(_name_of(name), value.type.type, value.type.nullable) for name, value in keys.items()]
    node = nodes.extend(rows.node, made, [value.expression for value in keys.values()]) if made else rows.node
    return node, (*scope.bound_names, *(_name_of(name) if name in keys else name for name in rows.names))


def _name_of(name: str) -> str:
    return f"{name} by collation"


def distinct(rows: QueryRows, scope: QueryScope) -> QueryRows:
    """Return the different rows."""
    nodes, (node, names) = scope.nodes, keyed(rows, scope)
    out = [*scope.bound_names, *rows.names]
    shown = [ops.AggregateCall("min", name, name) for name in rows.names if name not in names]
    if not shown:
        return rows.over(nodes.distinct(nodes.keep(node, list(dict.fromkeys(out)))))
    made = nodes.builder.add(ops.Aggregate(tuple(dict.fromkeys(names)), tuple(shown)), node)
    return scope.seen(rows, nodes.keep(made, out))
