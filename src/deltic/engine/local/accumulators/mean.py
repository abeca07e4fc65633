"""The mean is an exact sum by the number of rows."""

from __future__ import annotations

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.exact import rounded_by
from deltic.engine.local.accumulators.slots import ROWS, Result, Slots, reads


@reads("mean")
def mean(slots: Slots, column: int, type_: Type) -> Result:
    """The slots of an exact sum."""
    return rounded_by(slots, column, lambda totals: totals[:, ROWS])
