"""Bitwise aggregates: for each bit, the number of values that have it set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.bits import Bits
from deltic.engine.accumulators.slots import Linear, Result, Slots, Totals, reads
from deltic.engine.operators import numbers
from deltic.engine.storage.columns import Column
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type

_PLACES = np.arange(64, dtype=np.int64).reshape(64, 1)


def _bits(values: numbers.Array, type_: Type) -> numbers.Array:
    """Return the bits of n integers, lowest first: int64[64, n]."""
    return (values.astype(numbers.dtype_of(type_)).astype(np.int64) >> _PLACES) & 1


BITS = Linear(64, lambda values, types: [(_PLACES, _bits(values[0], types[0]))])


@reads("bit_and", "bit_or", "bit_xor")
def bits(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate a slot for each bit, which counts the values that have it set."""
    accumulator, (type_,) = ACCUMULATORS[call.function], types
    assert isinstance(accumulator, Bits)
    slot, count = slots.sum(call.columns, BITS), slots.count(call.columns)

    def result(totals: Totals) -> Column:
        has = accumulator.has(totals[:, slot : slot + 64], totals[:, count : count + 1])
        found = (has.astype(np.uint64) << _PLACES[:, 0].astype(np.uint64)).sum(axis=1, dtype=np.uint64)
        return numbers.stored(found.astype(numbers.dtype_of(type_)), type_, slots.interner), None

    return Result(result)
