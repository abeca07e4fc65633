"""ASOF joins: each left row with the nearest right row in an order, among those with equal keys.

The times of both sides are merged into one order, in which the latest right time up to a row is the maximum so far. So
the state grows with the rows, not with the compared pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of, infer, is_not_null, literal
from deltic.sql.queries.nodes import Nodes
from deltic.sql.queries.trees import conjuncts
from deltic.values.types import Column, Type

_BACKWARD = (exp.GTE, exp.GT)
_FLIPPED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GTE: exp.LTE,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.LT: exp.GT,
}
_UP_TO_NOW = ops.Frame(ops.Unit.ROWS, None, 0)


class NoAsof(Exception):
    """The condition is not that of an ASOF join."""


@dataclass(frozen=True)
class _Compared:
    """A comparison of a left and a right value."""

    kind: type[exp.Expression]
    left: exp.Expression
    right: exp.Expression


@dataclass(frozen=True)
class Asof:
    """The join of two nodes on equalities and one inequality; shared columns must be equal too.

    Among equally near right rows the least one matches. Raises NoAsof.
    """

    nodes: Nodes
    left: int
    right: int
    predicate: exp.Expression

    def pairs(self) -> int:
        """Return the left rows with a match, joined with it."""
        nodes = self.nodes
        result = nodes.join(self._left, self._nearest, self._candidates)
        names = (*nodes.schema(self.left).names, *nodes.schema(self.right).names)
        return nodes.keep(result, list(dict.fromkeys(names)))

    def without_match(self) -> int:
        """Return the left rows without a match."""
        nodes = self.nodes
        matched = nodes.keep(self._nearest, [*self._keys, self._time])
        return nodes.keep(nodes.antijoin(self._left, matched), nodes.schema(self.left).names)

    @cached_property
    def _compared(self) -> tuple[list[_Compared], _Compared]:
        """The equalities and the inequality."""
        result = [self._sides(part) for part in conjuncts(self.predicate)]
        equal = [part for part in result if part.kind in (exp.EQ, exp.NullSafeEQ)]
        others = [part for part in result if part not in equal]
        if len(others) != 1:
            raise NoAsof
        return equal, others[0]

    def _sides(self, part: exp.Expression) -> _Compared:
        if not isinstance(part, exp.EQ | exp.NullSafeEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            raise NoAsof
        left, right = set(self.nodes.schema(self.left).names), set(self.nodes.schema(self.right).names)
        kind: type[exp.Expression] = type(part)
        for own, mine, theirs in (
            (kind, part.this, part.expression),
            (_FLIPPED.get(kind, kind), part.expression, part.this),
        ):
            of_mine, of_theirs = set(columns_of(mine)), set(columns_of(theirs))
            if of_mine and of_mine <= left and of_theirs and of_theirs <= right - left:
                return _Compared(own, mine, theirs)
        raise NoAsof

    @cached_property
    def _named(self) -> list[str]:
        """Column names for the equalities and for the times of both sides."""
        return [self.nodes.fresh(name) for name in (*("key" for _ in self._compared[0]), "time", "found")]

    @property
    def _time(self) -> str:
        return self._named[-2]

    @property
    def _found(self) -> str:
        return self._named[-1]

    @cached_property
    def _keys(self) -> list[str]:
        """The equal columns: shared ones, and the sides of the equalities."""
        shared = set(self.nodes.schema(self.right).names)
        return [*(name for name in self.nodes.schema(self.left).names if name in shared), *self._named[:-2]]

    @cached_property
    def _left(self) -> int:
        """The left side with its keys and its time."""
        equal, inequality = self._compared
        return self._extended(self.left, [*(part.left for part in equal), inequality.left], self._named[:-1])

    @cached_property
    def _candidates(self) -> int:
        """The candidate right rows, one for each key and time."""
        nodes, (equal, inequality) = self.nodes, self._compared
        names = [*self._named[:-2], self._found]
        node = self._extended(self.right, [*(part.right for part in equal), inequality.right], names)
        guarded = [name for name, part in zip(names, equal, strict=False) if part.kind is exp.EQ]
        node = nodes.drop_null(node, [*guarded, self._found])
        return nodes.builder.add(ops.Top((*self._keys, self._found), (), 1, 0), node)

    def _extended(self, node: int, values: Sequence[exp.Expression], names: Sequence[str]) -> int:
        types = [infer(value, self.nodes.schema(node).value_types) for value in values]
        columns = [Column(name, t.type, t.nullable) for name, t in zip(names, types, strict=True)]
        return self.nodes.extend(node, columns, values)

    @cached_property
    def _nearest(self) -> int:
        """The nearest right time for each key and time of the left side, where there is one."""
        nodes, keys, kind = self.nodes, self._keys, self._compared[1].kind
        backward = kind in _BACKWARD
        rank, latest = nodes.fresh("rank"), nodes.fresh("latest")
        asked = nodes.distinct(nodes.keep(self._left, [*keys, self._time]))
        given = nodes.distinct(nodes.keep(self._candidates, [*keys, self._found]))
        time = replace(nodes.column(given, self._found), name=self._time)
        given = nodes.extend(given, [time], [column(self._found)])
        first = kind in (exp.GTE, exp.LTE)
        both = nodes.plus(
            self._ranked(nodes.pad(asked, [nodes.column(given, self._found)]), rank, 1 if first else 0, keys),
            self._ranked(given, rank, 0 if first else 1, keys),
        )
        call = ops.WindowCall("max" if backward else "min", (self._found,), latest, frame=_UP_TO_NOW)
        order = (ops.Order(self._time, descending=not backward), ops.Order(rank))
        ordered = nodes.builder.add(ops.Over(tuple(keys), order, (call,)), both)
        of_left = exp.EQ(this=column(rank), expression=literal(1 if first else 0, Type.INT32))
        there = exp.And(this=of_left, expression=is_not_null(column(latest)))
        kept = nodes.keep(nodes.filter(ordered, there), [*keys, self._time, latest])
        return nodes.rename(nodes.drop_null(kept, [latest]), {latest: self._found})

    def _ranked(self, node: int, rank: str, value: int, keys: Sequence[str]) -> int:
        """Return the node's keys and times, with a rank that orders equal times."""
        ranked = self.nodes.extend(node, [Column(rank, Type.INT32)], [literal(value, Type.INT32)])
        return self.nodes.keep(ranked, [*keys, self._time, self._found, rank])
