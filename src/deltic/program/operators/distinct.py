"""The change of a set is that of a relation that counts the derivations of each row."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.scope import Scope, relation_of


@relation_of(ops.DistinctDelta)
def distinct_delta(scope: Scope, op: ops.DistinctDelta, node: Node, number: int, wanted: str) -> str:
    """The set relation over the change in the second input."""
    return scope.derived(node.inputs[1], wanted, distinct=True)
