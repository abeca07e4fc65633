"""The semijoin: its change is that of the join."""

from __future__ import annotations

from deltic.calculus.derivatives.join import joined
from deltic.calculus.derivatives.table import Cost, NodeViews, derivative
from deltic.circuit.graph import Node
from deltic.circuit.operators.semijoin import Semijoin


@derivative(
    Semijoin,
    "Δa ⋈ b + a' ⋈ Δb",
    "DBSP Thm 4.5",
    "a ⋉ b is a ⋈ b for a set b over columns of a, linear in each input",
    "both inputs, a sorted by the columns of b",
    Cost.MATCHES,
)
def semijoin_delta(op: Semijoin, node: Node, views: NodeViews) -> int:
    """The change of a join, so that engines run it as a join."""
    return joined(views, [(views.old(n), views.delta(n)) for n in node.inputs])
