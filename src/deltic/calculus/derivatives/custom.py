"""Operators of a user's own that say how they change; the others have no row here, and fall back."""

from __future__ import annotations

from itertools import chain

from deltic.calculus.derivatives.table import Views, derivative
from deltic.circuit.graph import Node
from deltic.circuit.operators.custom import Maintain, MaintainDelta


@derivative(
    Maintain,
    "f'(a, Δa)",
    "DBSP Def. 4.1",
    "whoever made it says so: deltic.check_derivative tests that f(a + Δa) = f(a) + f'(a, Δa)",
    "its inputs, and what its state remembers",
)
def maintain_delta(op: Maintain, node: Node, views: Views) -> int:
    """What the user's derivative makes of the inputs and their changes."""
    pairs = ((views.old(number), views.delta(number)) for number in node.inputs)
    return views.builder.add(MaintainDelta(op.name), *chain.from_iterable(pairs))
