"""Keep is linear: its change is its input's change."""

from __future__ import annotations

from deltic.calculus.derivatives.table import NodeViews, derivative
from deltic.circuit.graph import Node
from deltic.circuit.operators.keep import Keep


@derivative(Keep, "f(Δa)", "DBSP Thm 4.4", "the identity is linear", "its input, as a relation of its own")
def keep_delta(op: Keep, node: Node, views: NodeViews) -> int:
    """The identity is linear."""
    return views.builder.add(op, *map(views.delta, node.inputs))
