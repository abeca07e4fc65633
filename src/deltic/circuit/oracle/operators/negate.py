"""Negation changes the sign of each weight."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(ops.Negate)
def negate(op: ops.Negate, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows with negated weights."""
    result: Rows = -inputs[0]
    return result
