"""UNION, INTERSECT and EXCEPT, of sets and of bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, literal
from deltic.circuit.types import Column, Type
from deltic.errors import count_of
from deltic.sql.queries.nodes import Nodes
from deltic.sql.queries.rows import Attribute, Rows, settled
from deltic.sql.queries.scope import Scope
from deltic.sql.scalars import Typed, unified

_WORDS = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


def lower_operation(query: exp.SetOperation, scope: Scope) -> Rows:
    """The rows of a set operation; its columns have the names of the first operand."""
    what = _WORDS[type(query)]
    for key in ("by_name", "side", "kind", "on"):
        if query.args.get(key):
            raise scope.refuse(query, f"{what} BY NAME", "list the columns in the same order")
    left, right = (scope.lower(side, scope) for side in (query.this, query.expression))
    left, right = aligned(left, right, query, what, scope)
    a, b, nodes = left.node, right.node, scope.nodes
    is_all = query.args.get("distinct") is False
    if isinstance(query, exp.Union):
        both = nodes.plus(a, b)
        return _over(both if is_all else nodes.distinct(both), left, scope)
    if isinstance(query, exp.Intersect):
        if not is_all:
            return _over(nodes.semijoin(nodes.distinct(a), b), left, scope)
        return _over(nodes.plus(a, nodes.negate(difference(nodes, a, b))), left, scope)
    return _over(difference(nodes, a, b) if is_all else nodes.antijoin(nodes.distinct(a), b), left, scope)


def aligned(left: Rows, right: Rows, query: exp.Expression, what: str, scope: Scope) -> tuple[Rows, Rows]:
    """Both sides with columns of the same names and types. Raises ProgramError where they have no common type."""
    if len(left.visible) != len(right.visible):
        counts = f"{count_of(len(left.visible), 'column')} on one side and {len(right.visible)} on the other"
        raise scope.source.error(query, f"{what} has {counts}")
    pairs = []
    for a, b in zip(left.visible, right.visible, strict=True):
        pair = unified([a.typed, b.typed])
        if pair is None:
            message = f"{what}: column {a.name} is {a.column.type} on one side and {b.column.type} on the other"
            raise scope.source.error(query, message, "cast one of them")
        pairs.append(pair)
    names = [(a.name, scope.nodes.fresh(a.name)) for a in left.visible]
    return _of(left, [a for a, _ in pairs], names, scope), _of(right, [b for _, b in pairs], names, scope)


def _of(rows: Rows, values: Sequence[Typed], names: Sequence[tuple[str, str]], scope: Scope) -> Rows:
    """The bindings of the rows and these values, under names in SQL and in the circuit."""
    nodes = scope.nodes
    kept = [c for c in nodes.schema(rows.node) if c.name in scope.bound_names]
    found = [settled(value) for value in values]
    columns = [Column(n, v.type.type, v.type.nullable) for (_, n), v in zip(names, found, strict=True)]
    node = nodes.compute(
        rows.node, [*kept, *columns], [*(column(c.name) for c in kept), *(v.expression for v in found)]
    )
    attributes = zip(names, columns, values, strict=True)
    return Rows(node, tuple(Attribute(n, c, is_void=v.is_null) for (n, _), c, v in attributes))


def _over(node: int, rows: Rows, scope: Scope) -> Rows:
    """The rows in a node that has their columns, which may be NULL in more of them."""
    seen = (replace(a, column=scope.nodes.column(node, a.column.name)) for a in rows.attributes)
    return Rows(node, tuple(seen))


def difference(nodes: Nodes, a: int, b: int) -> int:
    """The bag difference: each row as often as `a` has it more than `b`.

    Groups are there when their weights add up to more than zero, and a count is that sum; as many rows are made of it.
    """
    names = nodes.schema(a).names
    net = nodes.plus(a, nodes.negate(nodes.compute(b, [nodes.column(b, n) for n in names], [column(n) for n in names])))
    times, index = nodes.fresh("times"), nodes.fresh("index")
    counted = nodes.builder.add(ops.Aggregate(names, (ops.AggregateCall("count", "", times),)), net)
    generator = ops.FlatMap(index, "range", (literal(0, Type.INT64), column(times)))
    return nodes.keep(nodes.builder.add(generator, counted), names)
