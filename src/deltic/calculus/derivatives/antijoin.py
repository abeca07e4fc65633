"""The antijoin: a difference of two multilinear terms."""

from __future__ import annotations

from deltic.calculus.derivatives.join import added, flat, joined
from deltic.calculus.derivatives.table import Cost, NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@derivative(
    ops.Antijoin,
    "Δa ▷ b' − a ⋈ Δb",
    "DBSP Table 1, Thm 4.5",
    "a ▷ b is a − a ⋈ b, linear in each input",
    "both inputs, a sorted by the columns of b",
    Cost.MATCHES,
)
def antijoin_delta(op: ops.Antijoin, node: Node, views: NodeViews) -> int:
    """a ▷ b is a − a ⋈ b for a set b over columns of a, so bilinear up to the term in a alone."""
    return views.builder.add(ops.AntijoinDelta(), *flat([(views.old(n), views.delta(n)) for n in node.inputs]))


@derivative(
    ops.AntijoinDelta,
    "(da ▷ (b + db))^Δ − (a ⋈ db)^Δ",
    "DBSP Table 1, Thm 4.5",
    "a difference of an antijoin and a join",
    "each input, those of the first sorted by the columns of b",
    Cost.MATCHES,
)
def antijoin_delta_delta(op: ops.AntijoinDelta, node: Node, views: NodeViews) -> int:
    """The change of the rows that Δa keeps, less the change of the rows that Δb removes from a."""
    left, left_delta, right, right_delta = ((views.old(n), views.delta(n)) for n in node.inputs)
    kept = views.builder.add(op, *flat([left_delta, added(views, right, right_delta)]))
    lost = joined(views, [left, right_delta])
    return views.builder.add(ops.Plus(), kept, views.builder.add(ops.Negate(), lost))
