"""Sums of whole numbers wrap around; those of floats are kept as exact digits."""

from __future__ import annotations

import numpy as np

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.exact import rounded_by
from deltic.engine.local.accumulators.slots import Linear, Result, Slots, reads
from deltic.engine.local.operators import numbers

WRAPPED = Linear(1, lambda values, type_: [(0, values.astype(np.int64))])


@reads("sum")
def sum_(slots: Slots, column: int, type_: Type) -> Result:
    """One slot, or those of an exact sum."""
    if type_.is_float:
        return rounded_by(slots, column, type_, lambda totals: np.ones(len(totals), np.int64))
    slot = slots.sum(column, WRAPPED)
    dtype = numbers.dtype_of(type_)
    return lambda totals: numbers.stored(totals[:, slot].astype(dtype), type_, slots.interner)
