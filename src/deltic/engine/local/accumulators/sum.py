"""Sums of whole numbers wrap around; those of floats are kept as exact digits."""

from __future__ import annotations

import numpy as np

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.exact import rounded_by
from deltic.engine.local.accumulators.slots import Linear, Result, Slots, reads
from deltic.engine.local.operators import scalar

WRAPPED = Linear(1, lambda values, type_: [(0, values.view(np.int64))])


@reads("sum")
def sum_(slots: Slots, column: int, type_: Type) -> Result:
    """One slot, or those of an exact sum."""
    if type_ is Type.FLOAT64:
        return rounded_by(slots, column, lambda totals: np.ones(len(totals), np.int64))
    slot = slots.sum(column, WRAPPED)
    word = np.uint64 if type_ is Type.UINT64 else np.int64
    return lambda totals: scalar.stored(np.ascontiguousarray(totals[:, slot]).view(word), type_)
