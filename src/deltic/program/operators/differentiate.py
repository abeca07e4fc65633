"""D of a constant is the constant's change; D of a change is that change less the one before."""

from __future__ import annotations

from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.operators.constant import constant
from deltic.program.operators.delay import before
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of, relation_of


@relation_of(ops.Differentiate)
def difference(scope: Scope, op: ops.Differentiate, node: Node, number: int, wanted: str) -> str:
    """The constant whose change the node carries; of anything else the sum of its changes."""
    below = scope.circuit.nodes[node.inputs[0]].operator
    if isinstance(below, ops.Constant):
        return constant(scope, below, number, wanted)
    return scope.derived(number, wanted, distinct=False)


@bodies_of(ops.Differentiate)
def differentiate(scope: Scope, op: ops.Differentiate, node: Node) -> list[Body]:
    """The change of a constant; the change of a change is that less the one before."""
    (number,) = node.inputs
    if isinstance(scope.circuit.nodes[number].operator, ops.Constant):
        own = scope.circuit.nodes.index(node)
        return [scope.atom(scope.relation(own), own)]
    past = before(scope, node)
    return [*scope.bodies(number), replace(past, sign=-past.sign)]
