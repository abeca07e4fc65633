"""a + b = b + a: sums of the same terms in another order are one node; other equal nodes are one by construction."""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrite
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node


def share_sums(circuit: Circuit) -> Circuit:
    """The circuit with the terms of each sum in the order of their nodes."""
    return rewrite(circuit, _rule, ops.Plus)


def _rule(rewriting: Rewriting, node: Node) -> int | None:
    if not isinstance(node.operator, ops.Plus):
        return None
    terms = rewriting.new(*node.inputs)
    return rewriting.add(ops.Plus(), *sorted(terms)) if terms != sorted(terms) else None
