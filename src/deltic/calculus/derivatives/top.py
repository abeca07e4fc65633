"""Top-k."""

from __future__ import annotations

from deltic.calculus.derivatives.table import Cost, NodeViews, derivative
from deltic.circuit.graph import Node
from deltic.circuit.operators.top import Top, TopDelta


@derivative(
    Top,
    "top(a + Δa)|k − top(a)|k, k: the parts of Δa",
    "DBSP Def. 4.1",
    "only rows between the borders of before and after enter or leave",
    "its input, in order, and where the borders are",
    Cost.LOGARITHMIC,
)
def top_delta(op: Top, node: Node, views: NodeViews) -> int:
    """Only partitions of the change can have other first rows.

    It is not linear, because an inserted row displaces others.
    """
    (source,) = node.inputs
    return views.builder.add(TopDelta(op.keys, op.order, op.limit, op.offset), views.old(source), views.delta(source))
