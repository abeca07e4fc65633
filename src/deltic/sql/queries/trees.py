"""Walking the trees of expressions: the parts that are no scalars, and putting other nodes in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from deltic.circuit.expressions import conjunction
from deltic.sql.aggregates import is_aggregate

GROUPING = (exp.Grouping, exp.GroupingId)
"""What tells of a group which of its keys it is made by."""


def replaced(
    node: exp.Expression, wanted: Callable[[exp.Expression], bool], replace: Callable[[exp.Expression], exp.Expression]
) -> exp.Expression:
    """A copy of the node in which each outermost part that is wanted is replaced."""
    around = exp.Paren(this=node.copy())
    for part in list(outermost(around.this, wanted)):
        part.replace(replace(part))
    found: exp.Expression = around.this
    return found


def outermost(node: exp.Expression, wanted: Callable[[exp.Expression], bool]) -> Iterator[exp.Expression]:
    """The parts of an expression that are wanted, and in none that is; not inside of subqueries."""
    if wanted(node):
        yield node
    elif not isinstance(node, exp.Query):
        for child in node.iter_expressions():
            yield from outermost(child, wanted)


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """The conditions of which a condition is the conjunction; what all sides of an OR have in common is of them.

    (a AND b) OR (a AND c) is a AND (b OR c), for NULL too: so an equality that a join needs is found in each side.
    """
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*conjuncts(node.this), *conjuncts(node.expression)]
    return _factored(node) if isinstance(node, exp.Or) else [node]


def _factored(node: exp.Or) -> list[exp.Expression]:
    sides = [conjuncts(side) for side in _disjuncts(node)]
    shared = [part for part in sides[0] if all(part in side for side in sides[1:])]
    if not shared:
        return [node]
    rests: list[list[exp.Expression]] = [[part for part in side if part not in shared] for side in sides]
    found = [part.copy() for part in shared]
    if not all(rests):
        return found
    first, *others = (conjunction([part.copy() for part in parts]) for parts in rests)
    for other in others:
        first = exp.Or(this=first, expression=other)
    return [*found, first]


def _disjuncts(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.Paren):
        return _disjuncts(node.this)
    return [*_disjuncts(node.this), *_disjuncts(node.expression)] if isinstance(node, exp.Or) else [node]


def aggregates_of(node: exp.Expression) -> Iterator[exp.Expression]:
    """The aggregates in an expression, those in the arguments of window functions too, not those in subqueries."""
    if isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Window):
        inner = node.this
        while isinstance(inner, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
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
    """Whether an aggregate is the function of a window, with what stands behind it or without."""
    parent = node.parent
    while isinstance(parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        parent = parent.parent
    return isinstance(parent, exp.Window)
