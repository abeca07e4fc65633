"""WITH RECURSIVE: the least fixpoint of a query over itself, a set with UNION and a bag with UNION ALL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.graph import Circuit
from deltic.circuit.polarity import grows_with
from deltic.errors import count_of
from deltic.sql.queries.absence import check_absence
from deltic.sql.queries.levels import by_level
from deltic.sql.queries.nodes import Nodes
from deltic.sql.queries.rows import QueryColumn, QueryRows
from deltic.sql.queries.scope import NamedRows, QueryScope, reads
from deltic.sql.queries.sets import aligned
from deltic.sql.queries.trees import united
from deltic.sql.scalars import coerced, settled
from deltic.values.types import Column, Schema

_WIDENINGS = 4


def lower_recursive(definition: exp.CTE, names: Sequence[str], scope: QueryScope) -> QueryRows:
    """Return the rows of a recursive common table expression: of its first query, and of its second, which reads them.

    UNION drops duplicates, so that recursion over cycles ends. With UNION ALL the second query makes rows of each row
    once, which adds up to the fixpoint of bags, since it is linear. What only grows sees the relations around it as
    sets, too; else a row counts as often as it is there.
    """
    name, union = definition.alias, definition.this
    _check_form(definition, scope)
    scope.nodes.words.rule(name, _divided(name, union, scope), scope.source)
    is_set = union.args.get("distinct") is not False
    result = _lowered(definition, names, scope, is_set, counts=not is_set)
    body = result.body
    if is_set and not grows_with(body):
        check_absence(body, lambda message, remedy: scope.source.error(definition, message, remedy))
        result = _lowered(definition, names, scope, is_set, counts=True)
        body = result.body
    limit = level_limit(definition)
    if limit is not None or not (is_set or (grows_with(body) and is_linear(body))):
        body = _by_level(definition, body, scope, limit)
    bundle = scope.nodes.builder.add(ops.Fixpoint(body, scope.refresh), *result.imports)
    rows = scope.nodes.builder.add(ops.BundleRelation(name), bundle)
    return result.base.over(scope.nodes.keep(rows, [a.column.name for a in result.base.attributes]))


def level_limit(definition: exp.CTE) -> int | None:
    """Return the limit of MAX RECURSION LEVEL, if any."""
    result = definition.args["alias"].args.get("recursion_level")
    return None if result is None else int(result.name)


def _by_level(definition: exp.CTE, body: Circuit, scope: QueryScope, limit: int | None) -> Circuit:
    """Return the body of a recursion whose rows have their level, up to a limit.

    Of UNION ALL it is one in which a row of a level is made of several, or of none, of the one before. Raises
    ProgramError where an operator of it is not known to go level by level.
    """
    result = by_level(body, scope.nodes.fresh("level"), limit=limit)
    if result is None:
        what = f"{definition.alias} under an operator of Python in its own definition, which goes level by level,"
        raise scope.refuse(definition, what, "write UNION, and no MAX RECURSION LEVEL")
    return result


@dataclass(frozen=True)
class _Lowered:
    """A recursive query: the body of its fixpoint, the nodes that this imports, and the rows that it begins with."""

    body: Circuit
    imports: Sequence[int]
    base: QueryRows


def _lowered(definition: exp.CTE, names: Sequence[str], scope: QueryScope, is_set: bool, counts: bool) -> _Lowered:
    """The types of the columns are those that both queries have in common.

    They are found by lowering the second query until its columns fit.
    """
    name, union = definition.alias, definition.this
    first, second = _divided(name, union, scope)
    base = scope.lower(first, scope)
    shown = list(names) or [a.name for a in base.visible]
    if len(shown) != len(base.visible):
        message = f"{name} names {count_of(len(shown), 'column')}, and its first query has {len(base.visible)}"
        raise scope.source.error(definition, message)
    base = base.called("", shown)
    if is_set and (collated := next((a.name for a in base.visible if a.is_collated), None)):
        raise scope.refuse(definition, f"a recursion over the collation of {collated}", "write CAST(… AS STRING)")
    scope.nodes.words.call(base.visible)
    for _ in range(_WIDENINGS):
        inner = Nodes(scope.nodes, counts)
        schema = Schema(tuple(a.column for a in base.attributes))
        feedback = QueryRows(inner.builder.add(ops.Feedback(name, schema, is_set)), base.attributes)
        named = {**scope.named, name.lower(): NamedRows(feedback, inner)}
        inside = replace(scope, nodes=inner, named=named, around=scope, recursive=name)
        step = inside.lower(second, inside)
        brought = base.over(inner.bring(base.node, scope.nodes))
        sides = aligned(brought, step, union, "a recursive query", inside)
        total = inner.plus(*(side.node for side in sides))
        total = inner.distinct(total) if is_set else total
        columns = inner.schema(total).columns
        if [c.value_type for c in columns] == [a.column.value_type for a in base.attributes]:
            there = [column(c.name) for c in columns]
            inner.builder.add(ops.Sink(name), inner.compute(total, schema.columns, there))
            return _Lowered(inner.builder.build().part(name), inner.inputs, base)
        base = _widened(base, columns, scope)
    raise scope.source.error(definition, f"the columns of {name} have no types that hold what it makes of itself")


def _check_form(definition: exp.CTE, scope: QueryScope) -> None:
    name, union = definition.alias, definition.this
    if not isinstance(union, exp.Union):
        remedy = f"write it as: {name} AS (SELECT … UNION SELECT … FROM {name} …)"
        raise scope.source.error(definition, f"{name} reads itself, and is no UNION", remedy)
    if any(union.args.get(key) for key in ("order", "limit", "offset")):
        raise scope.refuse(union, "ORDER BY or LIMIT in a recursion", "put it into the query that reads it")


def _divided(name: str, union: exp.Union, scope: QueryScope) -> tuple[exp.Expression, exp.Expression]:
    """Return the start and the step of a recursion; each is a union if several queries form it."""
    parts = _parts(union, union.args.get("distinct"))
    if reads(parts[0], name):
        raise scope.source.error(parts[0], f"the first query of {name} reads {name}", "put that one second")
    first, second = ([part.copy() for part in parts if reads(part, name) is wanted] for wanted in (False, True))
    return united(first, union.args.get("distinct")), united(second, union.args.get("distinct"))


def _parts(query: exp.Expression, distinct: object) -> list[exp.Expression]:
    """Return the queries of a union and of those in it that drop duplicates, or keep them, alike."""
    if not isinstance(query, exp.Union) or query.args.get("distinct") is not distinct or query.args.get("with_"):
        return [query]
    return [*_parts(query.this, distinct), query.expression]


def _widened(base: QueryRows, columns: Sequence[Column], scope: QueryScope) -> QueryRows:
    """Return the first query's rows in columns of these types."""
    values = [settled(coerced(a.typed, c.type)).expression for a, c in zip(base.visible, columns, strict=True)]
    node = scope.nodes.compute(base.node, columns, values)
    names = [a.name for a in base.visible]
    shown = zip(names, columns, base.visible, strict=True)
    return QueryRows(node, tuple(QueryColumn(n, c, modifier=a.modifier) for n, c, a in shown))


def is_linear(body: Circuit) -> bool:
    """Return whether the body is linear: each of its rows derives from one row of the recursive relation."""
    recursive: set[int] = set()
    for number, node in enumerate(body.nodes):
        after = [i for i in node.inputs if i in recursive]
        if isinstance(node.operator, ops.Feedback) or after:
            recursive.add(number)
        if after and (isinstance(node.operator, ops.Distinct) or (isinstance(node.operator, ops.Join) and after[1:])):
            return False
    return True
