"""Joins: sums with one change in each term."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.calculus.derivatives.table import Cost, NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node

Pair = tuple[int, int]
"""The nodes of a value before its change, and of its change."""


@derivative(
    ops.Join,
    "Σᵢ a₁' ⋈ … ⋈ Δaᵢ ⋈ … ⋈ aₙ, new before i and old after",
    "DBSP Thm 4.5",
    "linear in each input",
    "each input, sorted by what the others share with it",
    Cost.MATCHES,
)
@derivative(
    ops.Semijoin,
    "Δa ⋈ b + a' ⋈ Δb",
    "DBSP Thm 4.5",
    "a ⋉ b is a ⋈ b for a set b over columns of a, linear in each input",
    "both inputs, a sorted by the columns of b",
    Cost.MATCHES,
)
def join_delta(op: ops.Join | ops.Semijoin, node: Node, views: NodeViews) -> int:
    """One delta query for each input; nothing is joined in full. Engines run a semijoin as a join."""
    return joined(views, _pairs(node, views))


def _pairs(node: Node, views: NodeViews) -> list[Pair]:
    return [(views.old(number), views.delta(number)) for number in node.inputs]


@derivative(
    ops.JoinDelta,
    "Σᵢ ((a₁ + d₁) ⋈ … ⋈ dᵢ ⋈ … ⋈ aₙ)^Δ",
    "DBSP Thm 4.5",
    "a sum of joins",
    "each input, sorted by what the others share with it",
    Cost.MATCHES,
)
def join_delta_delta(op: ops.JoinDelta, node: Node, views: NodeViews) -> int:
    """The change of each term of a join's change; inputs before the changed one are sums of a value and its change."""
    pairs = _pairs(node, views)
    olds, deltas = pairs[::2], pairs[1::2]
    news = [added(views, *both) for both in zip(olds, deltas, strict=True)]
    terms = [joined(views, [*news[:i], delta, *olds[i + 1 :]]) for i, delta in enumerate(deltas)]
    return views.builder.add(ops.Plus(), *terms)


def joined(views: NodeViews, pairs: Sequence[Pair]) -> int:
    """Return the change of a join."""
    return views.builder.add(ops.JoinDelta(), *flat(pairs))


def added(views: NodeViews, one: Pair, other: Pair) -> Pair:
    """Return the sum of two values, and of their changes."""
    old, delta = (views.builder.add(ops.Plus(), *parts) for parts in zip(one, other, strict=True))
    return old, delta


def flat(pairs: Sequence[Pair]) -> list[int]:
    """Return the inputs of a delta operator: values and their changes, alternating."""
    return [number for pair in pairs for number in pair]


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
    return views.builder.add(ops.AntijoinDelta(), *flat(_pairs(node, views)))


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
    left, left_delta, right, right_delta = _pairs(node, views)
    kept = views.builder.add(op, *flat([left_delta, added(views, right, right_delta)]))
    lost = joined(views, [left, right_delta])
    return views.builder.add(ops.Plus(), kept, views.builder.add(ops.Negate(), lost))
