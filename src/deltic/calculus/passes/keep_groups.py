"""a ⋈ π_K(σ_p(γ_K(b))) = a ⋈ keep(π_K(σ_p(γ_K(b)))): groups chosen by HAVING are a relation before they are joined.

A change of a group that does not change whether p is true leaves the projection as it was. Within the query of the
join, it would be searched for as a deletion and an insertion, with all matches in a.
"""

from __future__ import annotations

from deltic.calculus.passes.rewriting import Rewriting, rewrites
from deltic.circuit import operators as ops
from deltic.circuit.expressions import columns_of
from deltic.circuit.graph import Node


@rewrites(ops.Aggregate)
def keep_groups(rewriting: Rewriting, node: Node) -> int | None:
    """The circuit with a relation of the groups that a condition on aggregates chooses, where a join reads them.

    Recursions are left as they are: their relations have times, which a change of such a group changes.
    """
    if rewriting.circuit.depth > 0 or not isinstance(node.operator, ops.Map):
        return None
    inner, tested = rewriting.node(node.inputs[0]), set[str]()
    while isinstance(inner.operator, ops.Filter):
        tested |= set(columns_of(inner.operator.predicate))
        inner = rewriting.node(inner.inputs[0])
    if not isinstance(inner.operator, ops.Aggregate):
        return None
    keys, read = set(inner.operator.keys), {name for e in node.operator.expressions for name in columns_of(e)}
    if not read <= keys or tested <= keys or not _is_joined(rewriting, rewriting.number):
        return None
    return rewriting.add(ops.Keep(""), rewriting.add(node.operator, *rewriting.new(*node.inputs)))


def _is_joined(rewriting: Rewriting, number: int) -> bool:
    """Return whether a join or a semijoin reads a node, directly or through filters and maps."""
    for reader in rewriting.circuit.readers[number]:
        operator = rewriting.node(reader).operator
        if isinstance(operator, ops.Join | ops.Semijoin):
            return True
        if isinstance(operator, ops.Filter | ops.Map) and _is_joined(rewriting, reader):
            return True
    return False
