"""Recursion by levels, Spark's semantics of UNION ALL: a level is computed from the previous level alone.

Each row has its level in a column: 0 for the first query, one more for each step. Operators that group, order or
compare rows of the recursion do so within a level. With UNION a row keeps its first level. A LIMIT above stops the
recursion: another level is computed only while there are too few rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import checked, column, literal
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.functions import call
from deltic.sql.queries.nodes import Nodes
from deltic.values.types import Column, Schema, Type

_SAME = (ops.Filter, ops.FlatMap, ops.Negate, ops.Distinct, ops.Join)
_BY_KEYS = (ops.Aggregate, ops.Top, ops.Over)


def by_level(body: Circuit, level: str, stop: str = "", most: int = 0, limit: int | None = None) -> Circuit | None:
    """Return the body of a recursion with a column `level`; None where it cannot be computed by levels.

    With `most` it stops once there are this many rows; `stop` is the name of a column for that. A row of the level
    `limit`, or of a later one, is an error.
    """
    return _Levelled(body, level, stop, most, limit).circuit()


def stopped(nodes: Nodes, node: int, most: int) -> tuple[int, str] | None:
    """Return the rows of a recursion that stops once there are enough, and the name of its level column.

    None where the node has other than columns of one recursion.
    """
    above = []
    while isinstance((result := nodes.builder.node(node)).operator, ops.Map):
        above.append(result.operator)
        (node,) = result.inputs
    fixpoint = nodes.builder.node(result.inputs[0]) if isinstance(result.operator, ops.BundleRelation) else None
    if fixpoint is None or not isinstance(fixpoint.operator, ops.Fixpoint) or len(fixpoint.operator.body.sinks) > 1:
        return None
    level, stop = nodes.fresh("level"), nodes.fresh("stop")
    body = by_level(fixpoint.operator.body, level, stop, max(most, 1))
    if body is None:
        return None
    bundle = nodes.builder.add(replace(fixpoint.operator, body=body), *fixpoint.inputs)
    made = nodes.builder.add(result.operator, bundle)
    for operator in reversed(above):
        made = nodes.builder.add(_with_level(operator, level), made)
    return made, level


def _with_level(operator: ops.Map, level: str) -> ops.Map:
    columns = (*operator.columns, Column(level, Type.INT64))
    return replace(operator, columns=columns, expressions=(*operator.expressions, column(level)))


class _Levelled:
    """Rebuilds the body node by node; `recursive` are the nodes that depend on the recursion."""

    def __init__(self, body: Circuit, level: str, stop: str, most: int, limit: int | None) -> None:
        self._body, self._level, self._stop, self._most, self._limit = body, level, stop, most, limit
        self._builder = CircuitBuilder(body.depth)
        self._made: list[int] = []
        self._rows = 0
        self._recursive: set[int] = set()

    def circuit(self) -> Circuit | None:
        """Return the body; None where an operator cannot be computed by levels."""
        for number, node in enumerate(self._body.nodes):
            if isinstance(node.operator, ops.Feedback) or not self._recursive.isdisjoint(node.inputs):
                self._recursive.add(number)
                made = self._dependent(node.operator, node.inputs)
            else:
                made = self._builder.add(node.operator, *(self._made[i] for i in node.inputs))
            if made is None:
                return None
            self._made.append(made)
        return self._builder.build()

    def _dependent(self, operator: ops.Operator, inputs: Sequence[int]) -> int | None:
        given = [self._made[i] for i in inputs]
        match operator:
            case ops.Feedback(schema=schema):
                more = Schema((*schema.columns, Column(self._level, Type.INT64)))
                self._rows = self._open(self._builder.add(replace(operator, schema=more), *given))
                return self._rows
            case ops.Map():
                return self._builder.add(_with_level(operator, self._level), *given)
            case ops.Plus():
                return self._builder.add(operator, *(self._at_least(i) for i in inputs))
            case ops.Sink():
                after = exp.Add(this=column(self._level), expression=literal(1, Type.INT64))
                made = self._levels(given[0], after)
                return self._builder.add(
                    operator, self._bounded(self._first_levels(made) if self._body.are_sets else made)
                )
            case ops.Antijoin():
                return self._builder.add(operator, self._at_each(inputs[0]), given[1])
        if isinstance(operator, _SAME):
            return self._builder.add(operator, *given)
        if isinstance(operator, _BY_KEYS):
            return self._builder.add(replace(operator, keys=(*operator.keys, self._level)), *given)
        return None

    def _bounded(self, rows: int) -> int:
        """Return the rows, with an error for those past the level limit."""
        if self._limit is None:
            return rows
        limit = literal(self._limit, Type.INT64)
        return self._builder.add(ops.Filter(checked(call("recursion_level", column(self._level), limit))), rows)

    def _at_least(self, number: int) -> int:
        """Return a term of a sum with a level: what does not depend on the recursion is before its first one.

        Rows that EXCEPT removes are removed from each level.
        """
        if any(isinstance(self._body.nodes[n].operator, ops.Negate) for n in self._body.ancestors([number])):
            return self._at_each(number)
        made = self._made[number]
        return made if number in self._recursive else self._levels(made, literal(-1, Type.INT64))

    def _at_each(self, number: int) -> int:
        """Return a node of the body with a level: what does not depend on the recursion is there at each that has
        rows.
        """
        made = self._made[number]
        return made if number in self._recursive else self._builder.add(ops.Join(), made, self._levels_of(self._rows))

    def _levels_of(self, rows: int) -> int:
        """Return the levels that have rows."""
        level = Column(self._level, Type.INT64)
        return self._builder.add(ops.Distinct(), self._builder.add(ops.Map((level,), (column(level.name),)), rows))

    def _levels(self, node: int, value: exp.Expression) -> int:
        """Return the rows of a node at another level."""
        columns = tuple(c for c in self._builder.type_of(node).schema if c.name != self._level)
        values = (*(column(c.name) for c in columns), value)
        return self._builder.add(ops.Map((*columns, Column(self._level, Type.INT64)), values), node)

    def _first_levels(self, rows: int) -> int:
        """Return each row once, with its first level."""
        schema = self._builder.type_of(rows).schema
        first = ops.AggregateCall("min", self._level, self._stop)
        result = self._builder.add(ops.Aggregate(tuple(n for n in schema.names if n != self._level), (first,)), rows)
        values = [column(self._stop if name == self._level else name) for name in schema.names]
        return self._builder.add(ops.Map(schema.columns, tuple(values)), result)

    def _open(self, rows: int) -> int:
        """Return the rows that the next level starts from: those of levels before the one that reaches the wanted
        number.
        """
        if not self._most:
            return rows
        add, level, stop = self._builder.add, column(self._level), Column(self._stop, Type.INT64)
        last = add(ops.Top((), (ops.Order(self._level),), 1, self._most - 1), rows)
        end = add(ops.Distinct(), add(ops.Map((stop,), (level,)), last))
        is_past = exp.LTE(this=column(self._stop), expression=level)
        past = add(ops.Filter(is_past), add(ops.Join(), self._levels_of(rows), end))
        return add(ops.Antijoin(), rows, self._levels_of(past))
