"""over[row_number AS n](top[1](a)) = map[*, 1 AS n](top[1](a)): the first row of a partition is the only one there.

Its rank and its dense rank are 1, too. So the latest row of each key, written with `row_number`, keeps no second order.
"""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.expressions.literals import literal
from deltic.circuit.graph import Node
from deltic.circuit.operators.over import RANKS

_ONE = ("row_number", "rank", "dense_rank")


@rewrites(ops.Over)
def number_first(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with constants in place of window functions that only number the first row of each partition."""
    over = node.operator
    if not isinstance(over, ops.Over) or any(call.function not in _ONE for call in over.calls):
        return None
    (source,) = node.inputs
    if rewriting.node(source).operator != ops.Top(over.keys, over.order, 1):
        return None
    columns, calls = rewriting.circuit.type_of(rewriting.number).schema.columns, over.calls
    kept = [column(each.name) for each in columns[: -len(calls)]]
    ones = [literal(1, RANKS[call.function]) for call in calls]
    numbered = ops.Map(columns, (*kept, *ones))
    return rewriting.add(numbered, *rewriting.new(source))
