"""Recursion."""

from __future__ import annotations

from deltic.calculus.derivatives.table import Views, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@derivative(ops.Fixpoint, "fix(body)^Δ, over Z-sets of (row, iteration)", "DBSP §7.2")
def fixpoint_delta(op: ops.Fixpoint, node: Node, views: Views) -> int:
    """The body's derivative at each iteration: lifting a cycle is lifting what it consists of [DBSP Prop. 5.7]."""
    changed = ops.FixpointDelta(op.body, views.body(op.body, 0))
    return views.builder.add(changed, *map(views.delta, node.inputs))


@derivative(ops.Bracket, "∫ ∘ (↑body)^Δ ∘ δ₀", "DBSP §7.2, Prop. 5.4")
def bracket_delta(op: ops.Bracket, node: Node, views: Views) -> int:
    """δ₀ and ∫ are linear; the body is a lifted one, and the changes are in the time of the circuit around it."""
    changed = ops.Bracket(views.body(op.body, views.outer + 1))
    return views.builder.add(changed, *map(views.delta, node.inputs))
