"""σ[n ≤ k](over[row_number AS n](a)) = σ[n ≤ k](over[row_number AS n](top[k](a))): top-k written with ranks.

The numbers of a partition's first k rows do not depend on later rows, nor do other values computed from earlier rows or
from rows of the same rank. By `rank`, the rows are kept that agree with one of the first k rows in the partition and in
the order, by `dense_rank` those that agree with one of the first k that differ in these. A filter that may raise an
error stays: it would not see the rows that are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from sqlglot import exp

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column, is_checked
from deltic.circuit.expressions.casts import cast_type
from deltic.circuit.graph import Node

_RANKS = ("row_number", "rank", "dense_rank")
"""The functions that number rows, the one that keeps the fewest rows first."""
_MIRRORED: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
}


@rewrites(ops.Over)
def limit_ranks(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with a top-k before window functions where a filter keeps only the first row numbers."""
    if not isinstance(node.operator, ops.Filter) or is_checked(node.operator.predicate):
        return None
    inner = rewriting.node(node.inputs[0])
    over = inner.operator
    if not isinstance(over, ops.Over) or not all(call.looks_back for call in over.calls):
        return None
    functions = {call.name: call.function for call in over.calls}
    bounds = [(functions[name], k) for name, k in _bounds(node.operator.predicate) if name in functions]
    function = next((f for f in _RANKS if any(f == bounded for bounded, _ in bounds)), None)
    if function is None or not (over.order or function == "row_number") or not rewriting.only_read_here(node.inputs[0]):
        return None
    top = ops.Top(over.keys, over.order, max(min(k for f, k in bounds if f == function), 0))
    (source,) = inner.inputs
    if _is_limited(rewriting, source, top):
        return None
    (read,) = rewriting.new(source)
    taken = _first(rewriting, read, top, function)
    return rewriting.add(node.operator, rewriting.add(over, taken))


def _first(rewriting: Rewriting, source: int, top: ops.Top, function: str) -> int:
    """Return the rows of a new node whose rank by the function is at most the limit of `top`."""
    if function == "row_number":
        return rewriting.add(top, source)
    names = {*top.keys, *(order.column for order in top.order)}
    kept = tuple(c for c in rewriting.builder.type_of(source).schema if c.name in names)
    peers = ops.Map(kept, tuple(column(c.name) for c in kept))
    steps = (top, peers, ops.Distinct()) if function == "rank" else (ops.Distinct(), peers, ops.Distinct(), top)
    first = reduce(lambda number, step: rewriting.add(step, number), steps, source)
    return rewriting.add(ops.Semijoin(), source, first)


def _is_limited(rewriting: Rewriting, number: int, top: ops.Top) -> bool:
    """Return whether an old node has only the rows that `top`, or a rank by its order, lets through."""
    node = rewriting.node(number)
    if isinstance(node.operator, ops.Semijoin):
        node = rewriting.node(node.inputs[1])
        while isinstance(node.operator, ops.Distinct | ops.Map):
            node = rewriting.node(node.inputs[0])
    return node.operator == top


def _bounds(predicate: exp.Expression) -> Iterator[tuple[str, int]]:
    """Yield the columns with an upper bound that the predicate implies, and the bound."""
    if isinstance(predicate, exp.And):
        yield from _bounds(predicate.this)
        yield from _bounds(predicate.expression)
    elif type(predicate) in _MIRRORED:
        kind, left, right = type(predicate), _plain(predicate.this), _plain(predicate.expression)
        if isinstance(right, exp.Column):
            kind, left, right = _MIRRORED[kind], right, left
        is_number = isinstance(left, exp.Column) and isinstance(right, exp.Literal) and right.is_int
        if is_number and kind in (exp.LTE, exp.EQ, exp.LT):
            yield left.name, int(right.name) - (kind is exp.LT)


def _plain(expression: exp.Expression) -> exp.Expression:
    """Return the expression without casts to integers."""
    while isinstance(expression, exp.Paren | exp.TryCast):
        if isinstance(expression, exp.TryCast) and not cast_type(expression).is_integer:
            break
        expression = expression.this
    return expression
