"""What is to be kept is a relation: its own, where it is one anyway, else the sum of its conjunctions."""

from __future__ import annotations

from deltic.circuit.graph import Node
from deltic.circuit.operators.keep import Keep
from deltic.program.scope import RELATIONS, Scope, relation_of
from deltic.program.unsupported import in_recursion


@relation_of(Keep)
def keep(scope: Scope, op: Keep, node: Node, number: int, wanted: str) -> str:
    """The relation of the input, under the name of a view, its own or this one."""
    (source,) = node.inputs
    if scope.component is not None:
        scope.wanted.setdefault(source, wanted or op.name)
    is_sum = type(scope.circuit.nodes[source].operator) not in RELATIONS
    if is_sum and scope.component is not None and scope.is_recursive(number):
        raise in_recursion(number, op)
    return scope.relation(source)
