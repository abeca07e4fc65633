"""A kept node becomes a relation: its own if it has one anyway, else the sum of its conjunctions.

Relations of a recursion are sets: a sum that is kept in one becomes a set.
"""

from __future__ import annotations

from deltic.circuit.graph import Node
from deltic.circuit.operators.keep import Keep
from deltic.program.scope import RELATIONS, Scope, relation_of


@relation_of(Keep)
def keep(scope: Scope, op: Keep, node: Node, number: int, wanted: str) -> str:
    """The relation of the input, named after a view, itself or this operator."""
    (source,) = node.inputs
    if scope.component is not None:
        scope.wanted.setdefault(source, wanted or op.name)
    is_sum = type(scope.circuit.nodes[source].operator) not in RELATIONS
    if is_sum and scope.component is not None and scope.is_recursive(number):
        return scope.derived(source, wanted or op.name, distinct=True)
    return scope.relation(source)
