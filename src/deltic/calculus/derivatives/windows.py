"""Windows, moved into the integration of what they show."""

from __future__ import annotations

from deltic.calculus.derivatives.table import Views, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@derivative(
    ops.Window,
    "D(α), α = W(Δa + z⁻¹(α), Δθ)",
    "DBSP §8.5",
    "time never goes back, so what left the window never returns",
    "the window",
)
def window_delta(op: ops.Window, node: Node, views: Views) -> int:
    """Only the window is kept, not the relation: time never goes back, so what left the window is never in it again.

    The greatest value that the clock's changes have had is the greatest that the clock has had.
    """
    rows, clock = map(views.delta, node.inputs)
    builder = views.builder
    name = f"window_{op.column}_{op.length}_{rows}_{clock}"
    before = builder.add(ops.BackEdge(name, builder.type_of(rows).schema))
    now = builder.add(op, builder.add(ops.Plus(), rows, before), clock)
    builder.add(ops.Close(name), now)
    return builder.add(ops.Differentiate(), now)
