"""Sums and means: floats and decimals are stored as exact digits; integers wrap around, or are checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.sum import overflow
from deltic.engine.accumulators.decimals import DECIMALS, checked, decimal_sums, small
from deltic.engine.accumulators.exact import rounded_by
from deltic.engine.accumulators.slots import Linear, NoResult, Result, Slots, Totals, reads
from deltic.engine.kernels.results import HALVES as HALVES_READ
from deltic.engine.kernels.results import LIMBS
from deltic.engine.kernels.totals import HALVES as HALVES_ADDED
from deltic.engine.kernels.totals import NUMBER
from deltic.engine.operators import numbers
from deltic.engine.storage.columns import Column
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Kind, Type

WRAPPED = Linear(1, lambda values, types: [(0, values[0].astype(np.int64))], compiled=NUMBER)


@reads("sum")
def sum_(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate one slot, or those of an exact sum. A decimal sum is NULL if it has more digits than its type."""
    (type_,) = types
    if type_.kind is Kind.DECIMAL:
        first = slots.sum(call.columns, DECIMALS)
        return Result(
            lambda totals: checked(decimal_sums(totals, first), "sum", type_, slots, is_partial=True),
            (LIMBS, first, -1, -1, small(type_), 0),
        )
    if type_.is_float:
        return rounded_by(slots, call.columns, type_, lambda totals: np.ones(len(totals), np.int64))
    slot = slots.sum(call.columns, WRAPPED)
    if type_ is Type.INT64:
        return Result.stored(slot)
    dtype = numbers.dtype_of(type_)
    return Result(lambda totals: (numbers.stored(totals[:, slot].astype(dtype), type_, slots.interner), None))


@reads("mean")
def mean(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slots of an exact sum."""
    count = slots.count(call.columns)
    if types[0].kind is Kind.DECIMAL:
        return _of_decimals(slots, slots.sum(call.columns, DECIMALS), count, types[0])
    return rounded_by(slots, call.columns, Type.FLOAT64, lambda totals: totals[:, count])


def _of_decimals(slots: Slots, slot: int, count: int, type_: Type) -> Result:
    def result(totals: Totals) -> Column:
        pairs = zip(decimal_sums(totals, slot).tolist(), totals[:, count].tolist(), strict=True)
        found = [total / (n * 10**type_.scale) if n > 0 else 0.0 for total, n in pairs]
        return numbers.stored(np.array(found), Type.FLOAT64, slots.interner), None

    return Result(result)


_HALF = 32
_LOW = (1 << _HALF) - 1

# The lower and the upper half of each number. Their sums fit into 64 bits for fewer than 2³¹ rows.
HALVES = Linear(
    2,
    lambda values, types: [(0, (values[0] & _LOW).astype(np.int64)), (1, (values[0] >> _HALF).astype(np.int64))],
    compiled=HALVES_ADDED,
)


@reads("checked_sum", "tried_sum")
def checked_sum(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slots of an exact sum. Its result is NoResult, or NULL, if it does not fit into its type."""
    (type_,) = types
    count, is_partial = slots.count(call.columns), slots.is_partial(call)
    if type_.kind is Kind.DECIMAL:
        slot, result = slots.sum(call.columns, DECIMALS), ACCUMULATORS[call.function].result(types)
        return Result(
            lambda totals: checked(
                np.where(totals[:, count] > 0, decimal_sums(totals, slot), 0), "sum", result, slots, is_partial
            ),
            (LIMBS, slot, count, -1, small(result), 0),
        )
    if type_.bits <= _HALF:
        return Result.stored(slots.sum(call.columns, WRAPPED))
    slot = slots.sum(call.columns, HALVES)

    def result_of(totals: Totals) -> Column:
        low, high = totals[:, slot], totals[:, slot + 1]
        high = high + (low >> _HALF)
        beyond = (totals[:, count] > 0) & (high != high.astype(np.int32))
        if not is_partial and beyond.any():
            raise NoResult(int(np.flatnonzero(beyond)[0]), overflow("sum", Type.INT64))
        return (high << _HALF) | (low & _LOW), beyond if is_partial else None

    return Result(result_of, (HALVES_READ, slot, count, -1, 0, 0))
