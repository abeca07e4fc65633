"""A sum adds up the weights of each row."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(ops.Plus)
def plus(op: ops.Plus, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The sum of the inputs."""
    total: Rows = ZSet()
    for rows in inputs:
        total = total + rows
    return total
