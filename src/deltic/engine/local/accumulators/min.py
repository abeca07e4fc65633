"""The least value is kept, with all values in order: when it vanishes, the next is found by a walk."""

from __future__ import annotations

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.slots import Result, Slots, reads


@reads("min")
def min_(slots: Slots, column: int, type_: Type) -> Result:
    """The slot of the least value."""
    slot = slots.extreme(column, least=True)
    return lambda totals: (totals[:, slot], None)
