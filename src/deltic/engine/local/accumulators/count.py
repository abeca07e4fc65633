"""The number of rows is kept of every group."""

from __future__ import annotations

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.slots import ROWS, Result, Slots, reads


@reads("count")
def count(slots: Slots, column: int, type_: Type) -> Result:
    """The slot that all groups have."""
    return lambda totals: totals[:, ROWS]
