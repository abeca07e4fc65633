"""A sum has the conjunctions of all of its inputs."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of


@bodies_of(ops.Plus)
def plus(scope: Scope, op: ops.Plus, node: Node) -> list[Body]:
    """The conjunctions of all inputs, in order."""
    return [body for number in node.inputs for body in scope.bodies(number)]
