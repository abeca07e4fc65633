"""The set of the rows with a positive weight, and its change."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(ops.Distinct)
def distinct(op: ops.Distinct, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows with a positive weight, each with weight one."""
    result: Rows = inputs[0].distinct()
    return result


@means(ops.DistinctDelta)
def distinct_delta(op: ops.DistinctDelta, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """distinct(old + delta) − distinct(old)."""
    old, delta = inputs
    result: Rows = (old + delta).distinct() - old.distinct()
    return result
