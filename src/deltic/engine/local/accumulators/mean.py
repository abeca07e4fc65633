"""The mean is an exact sum by the number of values."""

from __future__ import annotations

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.exact import rounded_by
from deltic.engine.local.accumulators.slots import Result, Slots, reads


@reads("mean")
def mean(slots: Slots, column: int, type_: Type) -> Result:
    """The slots of an exact sum."""
    count = slots.count(column)
    return rounded_by(slots, column, Type.FLOAT64, lambda totals: totals[:, count])
