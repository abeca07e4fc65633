"""σ[n ≤ k](over[row_number AS n](a)) = σ[n ≤ k](over[row_number AS n](top[k](a))): top-k written with ranks.

The numbers of a partition's first k rows do not depend on later rows, nor do other values computed from earlier rows or
from rows of the same rank. A filter that may raise an error stays: it would not see the rows that are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.expressions import is_checked
from deltic.circuit.expressions.casts import cast_type
from deltic.circuit.graph import Node

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
    numbers = [call.name for call in over.calls if call.function == "row_number"]
    limits = [k for name, k in _bounds(node.operator.predicate) if name in numbers]
    if not limits or not rewriting.only_read_here(node.inputs[0]):
        return None
    top, (source,) = ops.Top(over.keys, over.order, max(min(limits), 0)), inner.inputs
    if rewriting.node(source).operator == top:
        return None
    taken = rewriting.add(top, *rewriting.new(source))
    return rewriting.add(node.operator, rewriting.add(over, taken))


def _bounds(predicate: exp.Expression) -> Iterator[tuple[str, int]]:
    """The columns with an upper bound that the predicate implies, and the bound."""
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
    """The expression without casts to integers."""
    while isinstance(expression, exp.Paren | exp.TryCast):
        if isinstance(expression, exp.TryCast) and not cast_type(expression).is_integer:
            break
        expression = expression.this
    return expression
