"""Operators of a user's own that say how they change; the others have no row here, and fall back."""

from __future__ import annotations

from itertools import chain

from deltic.calculus.derivatives.table import NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.circuit.operators.custom import Maintain, MaintainDelta
from deltic.values.types import Schema

_BEGINNING = ops.Constant(Schema(()), ((),))


@derivative(
    Maintain,
    "f'(a, Δa) + D(f(∅))",
    "DBSP Def. 4.1",
    "its author says so; deltic.check_derivative tests that f(a + Δa) = f(a) + f'(a, Δa)",
    "its inputs, and what its state remembers",
)
def maintain_delta(op: Maintain, node: Node, views: NodeViews) -> int:
    """What the user's derivative makes of the inputs and their changes; first of all comes what it makes of nothing.

    Of no group that is nothing. In a recursion, where no constant stands, engines begin with it by themselves.
    """
    change = MaintainDelta(op.name)
    inputs = list(chain.from_iterable((views.old(number), views.delta(number)) for number in node.inputs))
    if not op.custom.keys and not views.builder.depth:
        inputs.append(views.builder.add(ops.Differentiate(outer=views.outer), views.builder.add(_BEGINNING)))
    return views.builder.add(change, *inputs)
