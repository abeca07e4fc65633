"""−(−a) = a, and a + (−a) + b = b: the laws of the group [DBSP Def. 3.1]."""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@rewrites(ops.Negate)
def cancel_negations(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit without double negations, and without terms of sums that cancel, unless no term would be left."""
    if isinstance(node.operator, ops.Negate):
        inner = rewriting.node(node.inputs[0])
        return rewriting.new(inner.inputs[0])[0] if isinstance(inner.operator, ops.Negate) else None
    if isinstance(node.operator, ops.Plus):
        terms = _without_opposites(rewriting, list(node.inputs))
        return rewriting.add(ops.Plus(), *rewriting.new(*terms)) if 0 < len(terms) < len(node.inputs) else None
    return None


def _without_opposites(rewriting: Rewriting, terms: list[int]) -> list[int]:
    for number in list(terms):
        node = rewriting.node(number)
        if isinstance(node.operator, ops.Negate) and node.inputs[0] in terms and number in terms:
            terms.remove(number)
            terms.remove(node.inputs[0])
    return terms
