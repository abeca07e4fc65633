"""Sums: integers wrap around; floats and decimals are stored as exact digits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.engine.accumulators.decimals import DECIMALS, checked, decimal_sums
from deltic.engine.accumulators.exact import rounded_by
from deltic.engine.accumulators.slots import Linear, Result, Slots, reads
from deltic.engine.operators import numbers
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Kind, Type

WRAPPED = Linear(1, lambda values, types: [(0, values[0].astype(np.int64))])


@reads("sum")
def sum_(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate one slot, or those of an exact sum. A decimal sum is NULL if it has more digits than its type."""
    (type_,) = types
    if type_.kind is Kind.DECIMAL:
        first = slots.sum(call.columns, DECIMALS)
        return lambda totals: checked(decimal_sums(totals, first), "sum", type_, slots, is_partial=True)
    if type_.is_float:
        return rounded_by(slots, call.columns, type_, lambda totals: np.ones(len(totals), np.int64))
    slot = slots.sum(call.columns, WRAPPED)
    dtype = numbers.dtype_of(type_)
    return lambda totals: (numbers.stored(totals[:, slot].astype(dtype), type_, slots.interner), None)
