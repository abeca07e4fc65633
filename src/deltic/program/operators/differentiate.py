"""D of a constant is its change; D of a change is that change less the previous one.

D of other values is a fallback.
"""

from __future__ import annotations

from dataclasses import replace

from deltic.calculus.derivatives import derivative_of
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.operators.constant import constant
from deltic.program.operators.custom import recomputed
from deltic.program.operators.delay import before
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of, relation_of


@relation_of(ops.Differentiate)
def difference(scope: Scope, op: ops.Differentiate, node: Node, number: int, wanted: str) -> str:
    """The relation of a constant or of an operator without derivative; of anything else the sum of changes."""
    below = scope.circuit.nodes[node.inputs[0]].operator
    if isinstance(below, ops.Constant):
        return constant(scope, below, number, wanted)
    if derivative_of(type(below)).is_fallback:
        return recomputed(scope, node, number, wanted)
    return scope.derived(number, wanted, distinct=False)


@bodies_of(ops.Differentiate)
def differentiate(scope: Scope, op: ops.Differentiate, node: Node) -> list[Body]:
    """The change of a value; for a change, that change less the previous one."""
    (number,) = node.inputs
    below = scope.circuit.nodes[number].operator
    if isinstance(below, ops.Constant) or derivative_of(type(below)).is_fallback:
        own = scope.circuit.nodes.index(node)
        return [scope.atom(scope.relation(own), own)]
    past = before(scope, node)
    return [*scope.bodies(number), replace(past, sign=-past.sign)]
