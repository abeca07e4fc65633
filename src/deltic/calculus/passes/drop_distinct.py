"""distinct(a) = a for a set a [DBSP Prop 6.4]: a node that is a set by construction needs no distinct."""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, is_set, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node


@rewrites(ops.Distinct)
def drop_distinct(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit without distincts of sets, and so without the state of these operators."""
    if not isinstance(node.operator, ops.Distinct):
        return None
    (source,) = rewriting.new(*node.inputs)
    return source if is_set(rewriting.builder.node(source).type) else None
