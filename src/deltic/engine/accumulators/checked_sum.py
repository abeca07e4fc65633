"""Exact sums, which detect results that do not fit into their type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.sum import overflow
from deltic.engine.accumulators.decimals import DECIMALS, checked, decimal_sums
from deltic.engine.accumulators.slots import Linear, NoResult, Result, Slots, Totals, reads
from deltic.engine.accumulators.sum import WRAPPED
from deltic.engine.storage.layout import Column
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Kind, Type

_HALF = 32
_LOW = (1 << _HALF) - 1

# The lower and the upper half of each number. Their sums fit into 64 bits for fewer than 2³¹ rows.
HALVES = Linear(
    2, lambda values, types: [(0, (values[0] & _LOW).astype(np.int64)), (1, (values[0] >> _HALF).astype(np.int64))]
)


@reads("checked_sum", "tried_sum")
def checked_sum(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slots of an exact sum. Its result is NoResult, or NULL, if it does not fit into its type."""
    (type_,) = types
    count, is_partial = slots.count(call.columns), slots.is_partial(call)
    if type_.kind is Kind.DECIMAL:
        slot, result = slots.sum(call.columns, DECIMALS), ACCUMULATORS[call.function].result(types)
        return lambda totals: checked(
            np.where(totals[:, count] > 0, decimal_sums(totals, slot), 0), "sum", result, slots, is_partial
        )
    if type_.bits <= _HALF:
        slot = slots.sum(call.columns, WRAPPED)
        return lambda totals: (totals[:, slot], None)
    slot = slots.sum(call.columns, HALVES)

    def result_of(totals: Totals) -> Column:
        low, high = totals[:, slot], totals[:, slot + 1]
        high = high + (low >> _HALF)
        beyond = (totals[:, count] > 0) & (high != high.astype(np.int32))
        if not is_partial and beyond.any():
            raise NoResult(int(np.flatnonzero(beyond)[0]), overflow("sum", Type.INT64))
        return (high << _HALF) | (low & _LOW), beyond if is_partial else None

    return result_of
