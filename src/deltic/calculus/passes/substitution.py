"""Expressions over the columns of a map, as expressions over the columns of its input."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from deltic.circuit import operators as ops


def through(expression: exp.Expression, inner: ops.Map) -> exp.Expression:
    """The expression with each column replaced by what the map computes for it."""
    computed = {c.name: e for c, e in zip(inner.columns, inner.expressions, strict=True)}
    holder = exp.Paren(this=expression.copy())
    for column in list(holder.find_all(exp.Column)):
        column.replace(computed[column.name].copy())
    result: exp.Expression = holder.this
    return result.pop()


def copies(op: ops.Map) -> set[str]:
    """The columns that the map takes over from its input, under any name."""
    return {c.name for c, e in zip(op.columns, op.expressions, strict=True) if isinstance(e, exp.Column)}


def uses(expressions: tuple[exp.Expression, ...]) -> Counter[str]:
    """How often each column is read."""
    return Counter(column.name for e in expressions for column in e.find_all(exp.Column))
