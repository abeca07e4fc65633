"""Aggregates of values that are stored in order: extremes, percentiles, and those recomputed from all of them.

A walk finds the next extreme when the present one vanishes, and moves the positions of percentiles. For aggregates of
two columns, pairs are stored as single values, in the order of the compared column.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.extreme import Extreme, ExtremeBy
from deltic.engine.accumulators.slots import Result, Slots, Totals, reads
from deltic.engine.storage.codec import encode, writer
from deltic.engine.storage.columns import Column
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type


@reads("min", "max")
def extreme(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slot of the extreme value."""
    accumulator = ACCUMULATORS[call.function]
    assert isinstance(accumulator, Extreme)
    return Result.stored(slots.extreme(call.columns, accumulator.least))


@reads("min_by", "max_by")
def extreme_by(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slot of the extreme pair, whose second part is the result."""
    accumulator, (x, y) = ACCUMULATORS[call.function], call.columns
    assert isinstance(accumulator, ExtremeBy)
    slot, count, pairs = slots.extreme((y, x), accumulator.least), slots.count([y]), slots.type_of((y, x))

    def result(totals: Totals) -> Column:
        there = totals[:, count] > 0
        parts = slots.interner[pairs].decode(totals[there, slot]).field(1)
        values, nulls = np.zeros(len(totals), np.int64), np.zeros(len(totals), bool)
        values[there], found = encode(parts, types[0], slots.interner)
        nulls[there] = False if found is None else found
        return values, nulls

    return Result(result)


@reads("percentile", "percentile_disc")
def percentile(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slots of values at ranks; the first one has the result."""
    return Result.stored(slots.rank(call.columns, call))


@reads("collect_list", "collect_set", "mode", "string_agg")
def whole(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slot of the result. It is 0 as long as there are no values."""
    slot, present = slots.whole(call.columns, call), slots.values(call.columns).present
    accumulator = ACCUMULATORS[call.function]
    if slots.is_partial(call):
        return Result(lambda totals: (totals[:, slot], totals[:, slot + 1] > 0))
    if not accumulator.counts:
        return Result.stored(slot)
    nothing = writer(accumulator.result(types), slots.interner)(accumulator.value({}, types, call.parameters))
    return Result(lambda totals: (np.where(totals[:, present] > 0, totals[:, slot], nothing), None))
