"""Comparisons with ANY, SOME and ALL rows of a subquery.

`= ANY` is IN and `<> ALL` is NOT IN; for the other comparisons the least and greatest value decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from deltic.circuit.expressions import balanced, conjunction
from deltic.sql.queries.trees import operands, outermost

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_UPWARD = (exp.LT, exp.LTE)


class Membership(NamedTuple):
    """IN of a subquery; NOT IN where it is `negated`."""

    node: exp.In
    negated: bool


def is_quantified(node: exp.Expression) -> bool:
    """Return whether a node compares a value with ANY or ALL rows of a subquery."""
    if not isinstance(node, _COMPARISONS) or not isinstance(node.expression, exp.Any | exp.All):
        return False
    return isinstance(node.expression.this, exp.Query)


def as_membership(node: exp.Expression) -> Membership | None:
    """Return the node as IN or NOT IN of a subquery; None for others."""
    if (denied := _denied(node)) is not None:
        inner = as_membership(denied)
        return None if inner is None else Membership(inner.node, not inner.negated)
    if isinstance(node, exp.In) and node.args.get("query"):
        return Membership(node, False)
    is_one = isinstance(node, exp.EQ | exp.NEQ) and is_quantified(node)
    if not is_one or isinstance(node, exp.NEQ) is isinstance(node.expression, exp.Any):
        return None
    return Membership(exp.In(this=node.this, query=node.expression.this), isinstance(node, exp.NEQ))


def negations_inward(node: exp.Expression) -> exp.Expression:
    """Return the condition with NOT before IN itself, as in Spark, and not before the AND or OR around it."""
    if not any(map(_is_outside, node.find_all(exp.Not, exp.EQ))):
        return node
    around = exp.Paren(this=node.copy())
    while (part := next(filter(_is_outside, around.find_all(exp.Not, exp.EQ)), None)) is not None:
        inner = part.this.unnest()
        kind = exp.Or if isinstance(inner, exp.And) else exp.And
        part.replace(exp.Paren(this=balanced(kind, [exp.Not(this=each) for each in operands(type(inner), inner)])))
    result: exp.Expression = around.this
    return result


def _is_outside(node: exp.Expression) -> bool:
    """Return whether a node denies an AND or OR that has an IN of a subquery."""
    denied = _denied(node)
    if not isinstance(denied, exp.And | exp.Or):
        return False
    return any(True for _ in outermost(denied, lambda part: as_membership(part) is not None))


def _denied(node: exp.Expression) -> exp.Expression | None:
    """Return what a node says is false."""
    is_false = isinstance(node, exp.EQ) and isinstance(node.expression, exp.Boolean) and not node.expression.this
    inner: exp.Expression | None = node.this.unnest() if is_false or isinstance(node, exp.Not) else None
    return inner


@dataclass(frozen=True)
class QuantifiedComparison:
    """A comparison of `left` with rows of which there are the extremes, the number of values and the number of rows.

    The number of rows is NULL where there is none.
    """

    kind: type[exp.Expression]
    is_any: bool
    left: exp.Expression
    least: exp.Expression
    greatest: exp.Expression
    known: exp.Expression
    rows: exp.Expression

    @classmethod
    def of(cls, node: exp.Expression, left: exp.Expression, parts: Sequence[exp.Expression]) -> QuantifiedComparison:
        """Return the comparison that a node is, over these expressions."""
        return cls(type(node), isinstance(node.expression, exp.Any), left, *parts)

    def written_out(self) -> exp.Expression:
        """Of no rows the neutral value; else what one row decides, NULL where one may, or what all of them say."""
        holds = self._holds()
        deciding = holds if self.is_any else exp.Not(this=exp.Paren(this=holds.copy()))
        branches = [
            (exp.Is(this=self.rows, expression=exp.Null()), exp.Boolean(this=not self.is_any)),
            (deciding, exp.Boolean(this=self.is_any)),
            (exp.LT(this=self.known, expression=self.rows.copy()), exp.Null()),
        ]
        ifs = [exp.If(this=condition, true=value) for condition, value in branches]
        return exp.Paren(this=exp.Case(ifs=ifs, default=holds.copy()))

    def _holds(self) -> exp.Expression:
        """Return whether it holds for any, or for all, of the values."""
        if issubclass(self.kind, _UPWARD):
            return self._compared(self.greatest if self.is_any else self.least)
        if issubclass(self.kind, exp.EQ | exp.NEQ):
            both = [self._compared(self.least), self._compared(self.greatest)]
            return exp.Or(this=both[0], expression=both[1]) if self.is_any else conjunction(both)
        return self._compared(self.least if self.is_any else self.greatest)

    def _compared(self, value: exp.Expression) -> exp.Expression:
        return self.kind(this=self.left.copy(), expression=value.copy())
