"""σ_q(σ_p(a)) = σ_{p AND q}(a): two filters become one, which tests each row once."""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.expressions import conjunction, conjuncts
from deltic.circuit.graph import Node


@rewrites(ops.Filter)
def fuse_filters(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with consecutive filters merged where the inner one has one reader."""
    if not isinstance(node.operator, ops.Filter):
        return None
    inner = rewriting.node(node.inputs[0])
    if not isinstance(inner.operator, ops.Filter) or not rewriting.only_read_here(node.inputs[0]):
        return None
    parts = dict.fromkeys((*conjuncts(inner.operator.predicate), *conjuncts(node.operator.predicate)))
    both = conjunction([part.copy() for part in parts])
    return rewriting.add(ops.Filter(both), *rewriting.new(*inner.inputs))
