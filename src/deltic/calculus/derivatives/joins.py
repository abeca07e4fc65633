"""Multilinear operators: a sum with one change in each term."""

from __future__ import annotations

from deltic.calculus.derivatives.table import Cost, Views, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@derivative(
    ops.Join,
    "Σᵢ a₁' ⋈ … ⋈ Δaᵢ ⋈ … ⋈ aₙ, new before i and old after",
    "DBSP Thm 4.5",
    "linear in each input",
    "each input, sorted by what the others share with it",
    Cost.MATCHES,
)
def join_delta(op: ops.Join, node: Node, views: Views) -> int:
    """One delta query for each input; nothing is joined in full."""
    terms = []
    for i, changed in enumerate(node.inputs):
        before = [views.new(n) for n in node.inputs[:i]]
        after = [views.old(n) for n in node.inputs[i + 1 :]]
        terms.append(views.builder.add(op, *before, views.delta(changed), *after))
    return views.builder.add(ops.Plus(), *terms)


@derivative(
    ops.Antijoin,
    "Δa ▷ b' − a ⋈ Δb",
    "DBSP Table 1, Thm 4.5",
    "a ▷ b is a − a ⋈ b, linear in each input",
    "both inputs, a sorted by the columns of b",
    Cost.MATCHES,
)
def antijoin_delta(op: ops.Antijoin, node: Node, views: Views) -> int:
    """a ▷ b is a − a ⋈ b for a set b over columns of a, so bilinear up to the term in a alone."""
    left, right = node.inputs
    kept = views.builder.add(op, views.delta(left), views.kept(right))
    lost = views.builder.add(ops.Join(), views.old(left), views.delta(right))
    return views.builder.add(ops.Plus(), kept, views.builder.add(ops.Negate(), lost))
