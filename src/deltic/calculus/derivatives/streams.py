"""Operators on streams that are not their own derivatives."""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.derivatives.table import NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


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


@derivative(
    ops.Window,
    "D(α), α = W(Δa + z⁻¹(α), Δθ)",
    "DBSP §8.5",
    "time never goes back, so what left the window never returns",
    "the window",
)
def window_delta(op: ops.Window, node: Node, views: NodeViews) -> int:
    """The state is only the window, not the relation: time never goes back, so a row that left it never returns."""
    return views.builder.add(ops.WindowDelta(op), *map(views.delta, node.inputs))
