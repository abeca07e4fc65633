"""Substituting the columns of a map by its expressions."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from deltic.circuit import operators as ops
from deltic.circuit.expressions import is_literal, substituted
from deltic.circuit.expressions.casts import is_null_of_a_type


def through(expression: exp.Expression, inner: ops.Map) -> exp.Expression:
    """Return the expression with each column replaced by the map's expression for it."""
    return substituted(expression, {c.name: e for c, e in zip(inner.columns, inner.expressions, strict=True)})


def copies(op: ops.Map) -> set[str]:
    """Return the columns that the map copies from its input, under any name."""
    return {c.name for c, e in zip(op.columns, op.expressions, strict=True) if isinstance(e, exp.Column)}


def known(op: ops.Map) -> set[str]:
    """Return the columns that the map copies, and those that are constants."""
    pairs = zip(op.columns, op.expressions, strict=True)
    return copies(op) | {c.name for c, e in pairs if is_literal(e) or is_null_of_a_type(e)}


def uses(expressions: tuple[exp.Expression, ...]) -> Counter[str]:
    """Return the number of times that each column is read."""
    return Counter(column.name for e in expressions for column in e.find_all(exp.Column))
