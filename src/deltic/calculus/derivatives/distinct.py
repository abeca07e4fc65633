"""The set of a Z-set."""

from __future__ import annotations

from deltic.calculus.derivatives.table import NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@derivative(
    ops.Distinct,
    "H(a, Δa)",
    "DBSP Prop. 6.12",
    "only rows of the change can enter or leave the set",
    "the weight of each row of a",
)
def distinct_delta(op: ops.Distinct, node: Node, views: NodeViews) -> int:
    """Only rows of the change can enter or leave the set."""
    (source,) = node.inputs
    return views.builder.add(ops.DistinctDelta(), views.old(source), views.delta(source))
