"""Windows, whose state is only the rows in the window."""

from __future__ import annotations

from deltic.calculus.derivatives.table import NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


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
