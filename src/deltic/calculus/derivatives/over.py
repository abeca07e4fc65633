"""Window functions."""

from __future__ import annotations

from deltic.calculus.derivatives.table import Cost, NodeViews, derivative
from deltic.circuit.graph import Node
from deltic.circuit.operators.over import Over, OverDelta


@derivative(
    Over,
    "over(a + Δa)|k − over(a)|k, k: the partitions of Δa",
    "DBSP Def. 4.1",
    "only rows that see a changed one can get another value",
    "its input, in order",
    Cost.MATCHES,
)
def over_delta(op: Over, node: Node, views: NodeViews) -> int:
    """Only rows of partitions with a change can get other values, and only if their frames contain it."""
    (source,) = node.inputs
    return views.builder.add(OverDelta(op.keys, op.order, op.calls), views.old(source), views.delta(source))
