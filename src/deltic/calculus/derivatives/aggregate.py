"""Grouping and aggregation."""

from __future__ import annotations

from deltic.calculus.derivatives.table import Cost, NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@derivative(
    ops.Aggregate,
    "agg(a + Δa)|k − agg(a)|k, k: the groups of Δa",
    "DBSP §8.1, Def. 4.1",
    "only groups of the change can have another result",
    "of each group what its functions need: a total, or values in order",
    Cost.LOGARITHMIC,
)
def aggregate_delta(op: ops.Aggregate, node: Node, views: NodeViews) -> int:
    """Only groups of the change can have another result; counts and sums are linear, the set of groups is not.

    [DBSP §8.1.3] calls Agg_f linear where f is. That holds before the results of groups are put into one Z-set: a
    changed count replaces one row by another.
    """
    (source,) = node.inputs
    changed = ops.AggregateDelta(op.keys, op.calls)
    return views.builder.add(changed, views.old(source), views.delta(source))
