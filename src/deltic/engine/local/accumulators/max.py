"""The greatest value is kept, with all values in order: when it vanishes, the next is found by a walk."""

from __future__ import annotations

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.slots import Result, Slots, reads


@reads("max")
def max_(slots: Slots, column: int, type_: Type) -> Result:
    """The slot of the greatest value."""
    slot = slots.extreme(column, least=False)
    return lambda totals: (totals[:, slot], None)
