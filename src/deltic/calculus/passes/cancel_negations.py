"""−(−a) = a, and a + (−a) + b = b: the laws of the group [DBSP Def. 3.1]."""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrite
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node


def cancel_negations(circuit: Circuit) -> Circuit:
    """The circuit without double negations, and without terms of sums that cancel, unless no term would be left."""
    return rewrite(circuit, _rule, ops.Negate)


def _rule(rewriting: Rewriting, node: Node) -> int | None:
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
