"""Multilinear operators: a sum with one change in each term."""

from __future__ import annotations

from collections.abc import Sequence

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
    return _joined(views, [(views.old(n), views.delta(n)) for n in node.inputs])


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
    return views.builder.add(ops.AntijoinDelta(), *_flat([(views.old(n), views.delta(n)) for n in node.inputs]))


@derivative(
    ops.JoinDelta,
    "Σᵢ ((a₁ + d₁) ⋈ … ⋈ dᵢ ⋈ … ⋈ aₙ)^Δ",
    "DBSP Thm 4.5",
    "a sum of joins",
    "each input, sorted by what the others share with it",
    Cost.MATCHES,
)
def join_delta_delta(op: ops.JoinDelta, node: Node, views: Views) -> int:
    """The change of each term of the change: inputs before the changed one are sums of a value and its change."""
    pairs = [(views.old(n), views.delta(n)) for n in node.inputs]
    olds, deltas = pairs[::2], pairs[1::2]
    news = [_sum(views, *both) for both in zip(olds, deltas, strict=True)]
    terms = [_joined(views, [*news[:i], delta, *olds[i + 1 :]]) for i, delta in enumerate(deltas)]
    return views.builder.add(ops.Plus(), *terms)


@derivative(
    ops.AntijoinDelta,
    "(da ▷ (b + db))^Δ − (a ⋈ db)^Δ",
    "DBSP Table 1, Thm 4.5",
    "a difference of an antijoin and a join",
    "each input, those of the first sorted by the columns of b",
    Cost.MATCHES,
)
def antijoin_delta_delta(op: ops.AntijoinDelta, node: Node, views: Views) -> int:
    """The change of what the changed rows of a keep, less that of what the changed rows of b take."""
    left, left_delta, right, right_delta = ((views.old(n), views.delta(n)) for n in node.inputs)
    kept = views.builder.add(op, *_flat([left_delta, _sum(views, right, right_delta)]))
    lost = _joined(views, [left, right_delta])
    return views.builder.add(ops.Plus(), kept, views.builder.add(ops.Negate(), lost))


Pair = tuple[int, int]
"""The nodes of a value before its change, and of the change."""


def _joined(views: Views, pairs: Sequence[Pair]) -> int:
    return views.builder.add(ops.JoinDelta(), *_flat(pairs))


def _sum(views: Views, one: Pair, other: Pair) -> Pair:
    old, delta = (views.builder.add(ops.Plus(), *parts) for parts in zip(one, other, strict=True))
    return old, delta


def _flat(pairs: Sequence[Pair]) -> list[int]:
    return [number for pair in pairs for number in pair]
