"""The number of rows is kept of every group, and that of values where they may be NULL."""

from __future__ import annotations

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.slots import Result, Slots, reads


@reads("count")
def count(slots: Slots, column: int, type_: Type) -> Result:
    """One slot."""
    slot = slots.count(column)
    return lambda totals: (totals[:, slot], None)
