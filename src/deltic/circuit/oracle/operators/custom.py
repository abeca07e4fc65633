"""The meaning of a user's operators: their functions."""

from __future__ import annotations

from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit.operators.custom import Apply, Maintain, MaintainDelta
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(Apply)
@means(Maintain)
def apply(op: Apply, inputs: Inputs, types: Any) -> Rows:
    """The value of the function."""
    return op.custom.value(inputs)


@means(MaintainDelta)
def maintain_delta(op: MaintainDelta, inputs: Inputs, types: Any) -> Rows:
    """What the derivative gives, or the state, and in the beginning the value of nothing."""
    pairs = op.pairs(inputs)
    change = op.custom.change(pairs[::2], pairs[1::2])
    return change + op.custom.value([ZSet()] * (len(pairs) // 2)) if op.begins(inputs) and inputs[-1] else change
