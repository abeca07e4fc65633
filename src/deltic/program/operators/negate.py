"""A negation negates the sign of each conjunction."""

from __future__ import annotations

from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of


@bodies_of(ops.Negate)
def negate(scope: Scope, op: ops.Negate, node: Node) -> list[Body]:
    """The conjunctions of the input with negated signs."""
    return [replace(body, sign=-body.sign) for body in scope.bodies(*node.inputs)]
