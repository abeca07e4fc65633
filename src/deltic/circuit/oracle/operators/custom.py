"""The definition of user-defined operators: their functions."""

from __future__ import annotations

from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(ops.Apply, ops.Maintain)
def apply(op: ops.Apply, inputs: Inputs, types: Any) -> Rows:
    """The value of the function."""
    return op.custom.value(inputs)


@means(ops.MaintainDelta)
def maintain_delta(op: ops.MaintainDelta, inputs: Inputs, types: Any) -> Rows:
    """The change by the derivative or the state; at the beginning also the value for empty inputs."""
    pairs = op.pairs(inputs)
    change = op.custom.change(pairs[::2], pairs[1::2])
    return change + op.custom.value([ZSet()] * (len(pairs) // 2)) if op.begins(inputs) and inputs[-1] else change
