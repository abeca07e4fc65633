"""A semijoin keeps the rows that have a match."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.circuit.edges import ZSetType
from deltic.circuit.operators.semijoin import Semijoin
from deltic.circuit.oracle.operators.join import picker
from deltic.circuit.oracle.pointwise import Inputs, Rows, means


@means(Semijoin)
def semijoin(op: Semijoin, inputs: Inputs, types: Sequence[ZSetType]) -> Rows:
    """The rows of the first input that have a match in the second on the second's columns."""
    left, right = inputs
    pick = picker([types[0].schema.names.index(name) for name in types[1].schema.names])
    result: Rows = left.filter(lambda row: right.weight(pick(row)) > 0)
    return result
