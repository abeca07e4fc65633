"""Walking expression trees: finding parts that are not scalars, and replacing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from sqlglot import exp

from deltic.circuit.expressions import balanced, conjunction
from deltic.sql.aggregates import is_aggregate

_AROUND_CALLS = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)
"""What stands around a call of a window function, in OVER."""
GROUPING = (exp.Grouping, exp.GroupingId)
"""The marker that says by which of its keys a group is formed."""
FLIPPED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.GTE: exp.LTE,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.LT: exp.GT,
}
"""Inequalities, and what they are with their sides exchanged."""


def replaced(
    node: exp.Expression, wanted: Callable[[exp.Expression], bool], replace: Callable[[exp.Expression], exp.Expression]
) -> exp.Expression:
    """Return a copy of the node in which each outermost part that is wanted is replaced."""
    around = exp.Paren(this=node.copy())
    for part in list(outermost(around.this, wanted)):
        part.replace(replace(part))
    result: exp.Expression = around.this
    return result


def outermost(node: exp.Expression, wanted: Callable[[exp.Expression], bool]) -> Iterator[exp.Expression]:
    """Yield the outermost wanted parts of an expression, outside subqueries."""
    if wanted(node):
        yield node
    elif not isinstance(node, exp.Query):
        for child in node.iter_expressions():
            yield from outermost(child, wanted)


def united(queries: Sequence[exp.Expression], distinct: object = False) -> exp.Expression:
    """Return the UNION of queries; UNION ALL where it is not `distinct`."""
    return reduce(lambda one, other: exp.Union(this=one, expression=other, distinct=distinct), queries)


def normal(node: exp.Expression) -> exp.Expression:
    """Return a form that is the same for a + b and b + a: operands in a fixed order. It changes `node`."""
    around = exp.Paren(this=node)
    for part in reversed(list(around.find_all(*_GREATER, *_IN_ANY_ORDER, *_SYMMETRIC))):
        if isinstance(part, _GREATER):
            part.replace(FLIPPED[type(part)](this=part.expression, expression=part.this))
        elif isinstance(part, _SYMMETRIC) or not isinstance(part.parent, type(part)):
            operands = part.flatten(unnest=False) if isinstance(part, _IN_ANY_ORDER) else (part.this, part.expression)
            first, *others = sorted(operands, key=lambda operand: operand.sql())
            for other in others:
                first = type(part)(this=first, expression=other)
            part.replace(first)
    result: exp.Expression = around.this
    return result


_GREATER = (exp.GT, exp.GTE)
_SYMMETRIC = (exp.EQ, exp.NEQ, exp.NullSafeEQ)
_IN_ANY_ORDER = (exp.Add, exp.Mul, exp.And, exp.Or, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """Return the conjuncts of a condition, among them those that all sides of an OR share.

    (a AND b) OR (a AND c) is a AND (b OR c), for NULL too: so an equality that a join needs is found in each side.
    """
    parts = operands(exp.And, node)
    return [result for part in parts for result in (_factored(part) if isinstance(part, exp.Or) else [part])]


def _factored(node: exp.Or) -> list[exp.Expression]:
    sides = [conjuncts(side) for side in operands(exp.Or, node)]
    shared = [part for part in sides[0] if all(part in side for side in sides[1:])]
    if not shared:
        return [node]
    rests: list[list[exp.Expression]] = [[part for part in side if part not in shared] for side in sides]
    result = [part.copy() for part in shared]
    if not all(rests):
        return result
    return [*result, balanced(exp.Or, [conjunction([part.copy() for part in parts]) for parts in rests])]


def operands(kind: type[exp.Expression], node: exp.Expression) -> list[exp.Expression]:
    """Return the operands of a chain of AND or of OR, without parentheses around them."""
    result, waiting = list[exp.Expression](), [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.Paren):
            waiting.append(part.this)
        elif isinstance(part, kind):
            waiting += [part.expression, part.this]
        else:
            result.append(part)
    return result


def aggregates_of(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the aggregates in an expression, those in the arguments of window functions too, not those in
    subqueries.
    """
    if isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Window):
        inner = node.this
        while isinstance(inner, _AROUND_CALLS):
            inner = inner.this
        parts = [*inner.iter_expressions(), *(node.args.get("partition_by") or ())]
        parts += [node.args["order"]] if node.args.get("order") else []
        for part in parts:
            yield from aggregates_of(part)
    elif is_aggregate(node) or isinstance(node, GROUPING):
        yield node
    else:
        for child in node.iter_expressions():
            yield from aggregates_of(child)


def is_window_function(node: exp.Expression) -> bool:
    """Return whether an aggregate is the function of a window, with or without a clause such as FILTER after it."""
    parent = node.parent
    while isinstance(parent, _AROUND_CALLS):
        parent = parent.parent
    return isinstance(parent, exp.Window)
