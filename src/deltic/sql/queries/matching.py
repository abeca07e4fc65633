"""Matches of one side of a join with the other: on a condition, or as of the nearest row in an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, columns_of, conjunction, infer, is_not_null, literal
from deltic.sql.queries.nodes import Nodes
from deltic.sql.queries.trees import FLIPPED, conjuncts
from deltic.values.types import Column, Type

_EQUAL = (exp.EQ, exp.NullSafeEQ)
_BACKWARD = (exp.GTE, exp.GT)
_UP_TO_NOW = ops.Frame(ops.Unit.ROWS, None, 0)


@dataclass(frozen=True)
class _Compared:
    """A comparison of a value of the left side with one of the right side."""

    kind: type[exp.Expression]
    left: exp.Expression
    right: exp.Expression


def _compared(part: exp.Expression, left: Sequence[str], right: Sequence[str]) -> _Compared | None:
    """Return the comparison of values over columns of both sides that a condition is; None for another one."""
    kind: type[exp.Expression] = type(part)
    if kind not in _EQUAL and kind not in FLIPPED:
        return None
    sides = (kind, part.this, part.expression), (FLIPPED.get(kind, kind), part.expression, part.this)
    for own, mine, theirs in sides:
        of_mine, of_theirs = set(columns_of(mine)), set(columns_of(theirs))
        if of_mine and of_mine <= {*left} and of_theirs and of_theirs <= {*right} - {*left}:
            return _Compared(own, mine, theirs)
    return None


@dataclass(frozen=True)
class JoinSides:
    """Two nodes, which agree in the columns that they share, and a condition on the columns of both.

    Where the condition is a conjunction of equalities between the sides, and of conditions on the right one, a row has
    a match if the right side has its keys: that is an antijoin with the keys, and the pairs are kept nowhere.
    """

    nodes: Nodes
    left: int
    right: int
    predicate: exp.Expression | None

    def flipped(self) -> JoinSides:
        """Return the sides exchanged."""
        return replace(self, left=self.right, right=self.left)

    def pairs(self) -> int:
        """Return the join."""
        both = self.nodes.join(self.left, self.right)
        return both if self.predicate is None else self.nodes.filter(both, self.predicate)

    def with_match(self) -> int:
        """Return the rows of the left side that have a match."""
        node, keys = self._keyed
        return self.nodes.keep(self.nodes.semijoin(node, keys), self._names)

    def without_match(self) -> int:
        """Return the left rows without a match."""
        node, keys = self._keyed
        return self.nodes.keep(self.nodes.antijoin(node, keys), self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.nodes.schema(self.left).names

    @cached_property
    def _keyed(self) -> tuple[int, int]:
        """The left side with its keys as columns, and the matching keys."""
        parts = [] if self.predicate is None else conjuncts(self.predicate)
        right_names = set(self.nodes.schema(self.right).names) - set(self._names)
        of_right = [p for p in parts if set(columns_of(p)) <= right_names and columns_of(p)]
        compared = [_compared(p, self._names, self.nodes.schema(self.right).names) for p in parts]
        equalities = [pair for pair in compared if pair and pair.kind in _EQUAL]
        if len(of_right) + len(equalities) < len(parts):
            return self.left, self.nodes.keep(self.pairs(), self._names)
        right = self.nodes.filter(self.right, conjunction(of_right)) if of_right else self.right
        shared = [name for name in self.nodes.schema(self.right).names if name in self._names]
        left = self.left
        keys: list[exp.Expression] = [column(name) for name in shared]
        columns = [self.nodes.column(right, name) for name in shared]
        guarded = []
        for pair in equalities:
            left, name = self._key(left, pair.left)
            type_ = infer(pair.right, self.nodes.schema(right).value_types)
            columns.append(Column(name, type_.type, type_.nullable))
            keys.append(pair.right)
            guarded += [name] if pair.kind is exp.EQ else []
        names: dict[str, exp.Expression] = {}
        for c, key in zip(columns, keys, strict=True):
            if c.name in names:  # one column of the left side that has to equal two of the right
                return self.left, self.nodes.keep(self.pairs(), self._names)
            names[c.name] = key
        result = self.nodes.compute(right, columns, keys)
        return left, self.nodes.drop_null(result, guarded)

    def _key(self, left: int, key: exp.Expression) -> tuple[int, str]:
        """Return the left side with a column of this value, and the column."""
        if isinstance(key, exp.Column):
            return left, key.name
        type_ = infer(key, self.nodes.schema(left).value_types)
        new = Column(self.nodes.fresh("key"), type_.type, type_.nullable)
        return self.nodes.extend(left, [new], [key]), new.name


class NoAsof(Exception):
    """The condition is not that of an ASOF join."""


@dataclass(frozen=True)
class Asof:
    """The join of two nodes on equalities and one inequality; shared columns must be equal too.

    Among equally near right rows the least one matches. Raises NoAsof. The times of both sides are merged into one
    order, in which the latest right time up to a row is the maximum so far: the state grows with the rows, not with
    the compared pairs.
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
        of_left, of_right = (self.nodes.schema(side).names for side in (self.left, self.right))
        result = [_compared(part, of_left, of_right) for part in conjuncts(self.predicate)]
        equal = [part for part in result if part and part.kind in _EQUAL]
        others = [part for part in result if part and part.kind in FLIPPED]
        if len(others) != 1 or len(equal) + 1 < len(result):
            raise NoAsof
        return equal, others[0]

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
