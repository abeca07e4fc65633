"""An antijoin, and its change."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.oracle.operators.join import join, picker
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(ops.Antijoin)
def antijoin(op: ops.Antijoin, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows of the first input that have no match in the second on the second's columns."""
    names, right_names = types[0].schema.names, types[1].schema.names
    pick = picker([names.index(n) for n in right_names])
    result: Rows = inputs[0].antijoin(inputs[1], pick, lambda row: row)
    return result


@means(ops.AntijoinDelta)
def antijoin_delta(op: ops.AntijoinDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """Δa ▷ (b + Δb) − a ⋈ Δb."""
    left, left_delta, right, right_delta = inputs
    kept: Rows = antijoin(ops.Antijoin(), [left_delta, right + right_delta], types[1::2])
    lost: Rows = join(ops.Join(), [left, right_delta], types[1::2])
    return kept - lost
