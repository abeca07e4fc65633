"""Operators with state, whose changes are in another time than their own, and back-edges."""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.derivatives.table import NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@derivative(ops.Delay, "z⁻¹(Δa)", "DBSP Thm 4.4", "linear and time-invariant", "one change")
@derivative(ops.Differentiate, "D(Δa)", "DBSP Thm 4.4", "linear and time-invariant", "one change")
def linear_delta(op: ops.Delay | ops.Differentiate, node: Node, views: NodeViews) -> int:
    """Linear and time-invariant operators on streams are their own change."""
    return views.builder.add(op, *map(views.delta, node.inputs))


@derivative(
    ops.Integrate,
    "a; I(Δa) in another time",
    "DBSP Prop. 4.2 inversion, Thm 4.4",
    "D(I(a)) = a; linear and time-invariant",
    "the sum, in another time",
)
def integrate_delta(op: ops.Integrate, node: Node, views: NodeViews) -> int:
    """D(I(a)) is a; in another time I is its own derivative, and the change of a set is no set."""
    if op.outer == views.outer:
        return views.value(*node.inputs)
    return views.builder.add(replace(op, is_set=False), *map(views.delta, node.inputs))


@derivative(
    ops.BackEdge,
    "z⁻¹(Δα)",
    "DBSP Prop. 4.2 cycle",
    "the change of a fixpoint is a fixpoint of changes",
    "one change",
)
def back_edge_delta(op: ops.BackEdge, node: Node, views: NodeViews) -> int:
    """The change of a fixpoint is a fixpoint of changes: the back-edge carries changes."""
    return views.builder.add(replace(op, is_set=False))


@derivative(
    ops.DistinctDelta,
    "H(a', d') − H(a, d)",
    "DBSP Prop. 6.12 and Def. 4.1",
    "only rows of d or d' can enter or leave the set",
    "a and d",
)
def distinct_delta_delta(op: ops.DistinctDelta, node: Node, views: NodeViews) -> int:
    """The second change of a set: H after the change less H before it, each on the rows of its own change."""
    after = views.builder.add(op, *map(views.new, node.inputs))
    before = views.builder.add(op, *map(views.old, node.inputs))
    return views.builder.add(ops.Plus(), after, views.builder.add(ops.Negate(), before))
