"""Recursion."""

from __future__ import annotations

from deltic.calculus.derivatives.table import Views, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@derivative(ops.Fixpoint, "fix(body)^Δ, over Z-sets of (row, iteration)", "DBSP §7.2")
def fixpoint_delta(op: ops.Fixpoint, node: Node, views: Views) -> int:
    """The body's derivative, lifted to the nested streams of the iteration."""
    from deltic.calculus.incrementalize import incrementalize

    changed = ops.FixpointDelta(op.body, incrementalize(op.body))
    return views.builder.add(changed, *map(views.delta, node.inputs))
