"""UNION, INTERSECT, EXCEPT and DISTINCT over sets and bags.

Rows are compared whole: texts with a collation by its keys; of equal texts the least by bytes is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.errors import count_of
from deltic.sql.collations import PLAIN, texts_of
from deltic.sql.queries.nodes import Nodes
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import QueryScope
from deltic.sql.scalars import Typed, named_as, settled, unified
from deltic.sql.scalars.comparing import key
from deltic.sql.types import check_order
from deltic.values.types import Column, Type

_WORDS = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


def lower_operation(query: exp.SetOperation, scope: QueryScope) -> QueryRows:
    """Lower a set operation; its columns are named as in the first operand."""
    what = _WORDS[type(query)]
    for argument in ("by_name", "side", "kind", "on"):
        if query.args.get(argument):
            raise scope.refuse(query, f"{what} BY NAME", "list the columns in the same order")
    is_all = query.args.get("distinct") is False
    if isinstance(query, exp.Union):
        united = _united(_branches(query), query, scope, not is_all)
        return united if is_all else distinct(united, scope)
    left, right = (scope.lower(side, scope) for side in (query.this, query.expression))
    left, right = aligned(left, right, query, what, scope, compares=True)
    if not is_all:
        return _without_copies(left, right, isinstance(query, exp.Intersect), scope)
    return scope.seen(left, _with_copies(left, right, isinstance(query, exp.Intersect), scope))


def _with_copies(left: QueryRows, right: QueryRows, are_in: bool, scope: QueryScope) -> int:
    """Return each row on the left as often as it is, or is not, on the right; of equal rows one is shown."""
    nodes, names = scope.nodes, scope.nodes.schema(left.node).names
    (a, keys), (b, _) = keyed(left, scope), keyed(right, scope)
    a, b = (nodes.keep(node, list(dict.fromkeys(keys))) for node in (a, b))
    result = difference(nodes, a, b)
    result = nodes.plus(a, nodes.negate(result)) if are_in else result
    if not any(column.is_collated for column in left.visible):
        return result
    shown, _ = keyed(distinct(left, scope), scope)
    return nodes.keep(nodes.join(result, shown), names)


def _without_copies(left: QueryRows, right: QueryRows, are_in: bool, scope: QueryScope) -> QueryRows:
    """Return the different rows on the left that are, or are not, on the right."""
    nodes, rows = scope.nodes, distinct(left, scope)
    (a, names), (b, _) = keyed(rows, scope), keyed(right, scope)
    chosen = (nodes.semijoin if are_in else nodes.antijoin)(a, nodes.keep(b, list(dict.fromkeys(names))))
    return scope.seen(rows, nodes.keep(chosen, nodes.schema(rows.node).names))


def _branches(query: exp.Union) -> list[exp.Expression]:
    """Return the operands of a chain of equal UNIONs, from the left."""
    result: list[exp.Expression] = [query.expression]
    first = query.this
    while isinstance(first, exp.Union) and first.args.get("distinct") == query.args.get("distinct") and _is_bare(first):
        result.append(first.expression)
        first = first.this
    return [first, *reversed(result)]


def _is_bare(query: exp.Union) -> bool:
    """Return whether a UNION is only its operands, without an order, a limit or WITH."""
    return not any(value for key, value in query.args.items() if key not in ("this", "expression", "distinct"))


def _united(branches: Sequence[exp.Expression], query: exp.Expression, scope: QueryScope, compares: bool) -> QueryRows:
    """Return the sum of the branches; each is brought to the common type of those before it."""
    left, *others = (scope.lower(branch, scope) for branch in branches)
    while others:
        count = next((i for i, right in enumerate(others) if not _agree(left, right)), len(others))
        group, others = others[: count or 1], others[count or 1 :]
        left, second = aligned(left, group[0], query, "UNION", scope, compares)
        names = [(a.name, a.column.name) for a in left.visible]
        values = [[a.typed for a in right.visible] for right in group[1:]]
        rest = [_of(right, own, names, scope) for right, own in zip(group[1:], values, strict=True)]
        left = scope.seen(left, scope.nodes.plus(*(rows.node for rows in (left, second, *rest))))
    return left


def _agree(left: QueryRows, right: QueryRows) -> bool:
    """Return whether the columns agree in number and types."""
    a, b = ([(None if c.is_void else (c.column.type, c.modifier)) for c in rows.visible] for rows in (left, right))
    return a == b and None not in a


def aligned(
    left: QueryRows, right: QueryRows, query: exp.Expression, what: str, scope: QueryScope, compares: bool = False
) -> tuple[QueryRows, QueryRows]:
    """Both sides with columns of the same names and types. Raises ProgramError where they have no common type.

    Where the operation compares rows, it also raises for maps.
    """
    if len(left.visible) != len(right.visible):
        counts = f"{count_of(len(left.visible), 'column')} on one side and {len(right.visible)} on the other"
        raise scope.source.error(query, f"{what} has {counts}")
    pairs = []
    for a, b in zip(left.visible, right.visible, strict=True):
        theirs = named_as(b.typed, a.column.type) if isinstance(query, exp.Union) else b.typed
        one, other = _collations(a), _collations(b)
        if isinstance(query, exp.SetOperation) and one != other and one and other:
            message = f"{what}: column {a.name} has the collations {one} and {other}"
            raise scope.source.error(query, message, "add COLLATE to one")
        pair = unified([a.typed, theirs])
        if pair is None:
            message = f"{what}: column {a.name} is {a.column.type} on one side and {b.column.type} on the other"
            raise scope.source.error(query, message, "cast one of them")
        if compares:
            check_order(pair[0].type.type, query, f"{what}, of column {a.name},", scope.source)
        pairs.append(pair)
    names = [(a.name, scope.nodes.fresh(a.name)) for a in left.visible]
    return _of(left, [a for a, _ in pairs], names, scope), _of(right, [b for _, b in pairs], names, scope)


def _collations(column: QueryColumn) -> str:
    """Return the names of the collations of its texts."""
    found = texts_of(column.typed.type.type, column.typed.modifier)
    return ", ".join((collation or PLAIN).name for collation in found)


def _of(rows: QueryRows, values: Sequence[Typed], names: Sequence[tuple[str, str]], scope: QueryScope) -> QueryRows:
    """Return the bindings of the rows and these values, under names in SQL and in the circuit."""
    nodes = scope.nodes
    kept = [c for c in nodes.schema(rows.node) if c.name in scope.bound_names]
    result = [settled(value) for value in values]
    columns = [Column(n, v.type.type, v.type.nullable) for (_, n), v in zip(names, result, strict=True)]
    node = nodes.compute(
        rows.node, [*kept, *columns], [*(column(c.name) for c in kept), *(v.expression for v in result)]
    )
    shown = zip(names, columns, values, strict=True)
    attributes = tuple(QueryColumn(n, c, is_void=v.is_null, modifier=v.modifier) for (n, _), c, v in shown)
    nodes.words.call(attributes)
    return QueryRows(node, attributes)


def difference(nodes: Nodes, a: int, b: int) -> int:
    """Return the bag difference: each row as often as `a` has it more than `b`.

    Groups are there when their weights add up to more than zero, and a count is that sum; as many rows are made of it.
    """
    names = nodes.schema(a).names
    net = nodes.plus(a, nodes.negate(nodes.keep(b, names)))
    times, index = nodes.fresh("times"), nodes.fresh("index")
    counted = nodes.builder.add(ops.Aggregate(names, (ops.AggregateCall("count", "", times),)), net)
    generator = ops.FlatMap(index, "range", (literal(0, Type.INT64), column(times)))
    return nodes.keep(nodes.builder.add(generator, counted), names)


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
