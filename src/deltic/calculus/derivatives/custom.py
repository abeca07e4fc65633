"""User-defined operators with a derivative or a state; others have no row here and use the fallback."""

from __future__ import annotations

from itertools import chain

from deltic.calculus.derivatives.table import NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.values.types import Schema

_BEGINNING = ops.Constant(Schema(()), ((),))


@derivative(
    ops.Maintain,
    "f'(a, Δa) + D(f(∅))",
    "DBSP Def. 4.1",
    "its author says so; deltic.check_derivative tests that f(a + Δa) = f(a) + f'(a, Δa)",
    "its inputs, and what its state remembers",
)
def maintain_delta(op: ops.Maintain, node: Node, views: NodeViews) -> int:
    """The user's derivative of the inputs and their changes, plus the result for empty inputs in the first epoch.

    A keyed operator has no result for empty inputs. In a recursion, which allows no constants, engines add it
    themselves.
    """
    change = ops.MaintainDelta(op.name)
    inputs = list(chain.from_iterable((views.old(number), views.delta(number)) for number in node.inputs))
    if not op.custom.keys and not views.builder.depth:
        inputs.append(views.builder.add(ops.Differentiate(outer=views.outer), views.builder.add(_BEGINNING)))
    return views.builder.add(change, *inputs)
