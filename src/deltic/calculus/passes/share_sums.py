"""a + b = b + a: sums of the same terms in another order become one node; the builder shares all other equal nodes."""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@rewrites(ops.Plus)
def share_sums(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with the terms of each sum sorted by node number."""
    if not isinstance(node.operator, ops.Plus):
        return None
    terms = rewriting.new(*node.inputs)
    return rewriting.add(ops.Plus(), *sorted(terms)) if terms != sorted(terms) else None
