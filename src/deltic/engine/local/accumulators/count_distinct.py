"""The number of different values is kept with the values, of which each change says what appears and vanishes."""

from __future__ import annotations

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.slots import Result, Slots, reads


@reads("count_distinct")
def count_distinct(slots: Slots, column: int, type_: Type) -> Result:
    """The slot of the number of different values."""
    slot = slots.values(column)
    return lambda totals: (totals[:, slot], None)
