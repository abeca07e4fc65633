"""The meaning of a user's operators: their functions."""

from __future__ import annotations

from typing import Any

from deltic.circuit.operators.custom import Apply, Maintain, MaintainDelta
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(Apply)
@means(Maintain)
def apply(op: Apply, inputs: Inputs, types: Any) -> Rows:
    """The value of the function."""
    return op.custom.value(inputs)


@means(MaintainDelta)
def maintain_delta(op: MaintainDelta, inputs: Inputs, types: Any) -> Rows:
    """What the derivative gives, or the state."""
    return op.custom.change(inputs[::2], inputs[1::2])
