"""I of changes is a state, which no incremental circuit may show."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of
from deltic.program.unsupported import no_change


@bodies_of(ops.Integrate)
def integrate(scope: Scope, op: ops.Integrate, node: Node) -> list[Body]:
    """Raise UnsupportedError: the value of a sum over all epochs is no change of it."""
    raise no_change(scope.circuit.nodes.index(node), op)
