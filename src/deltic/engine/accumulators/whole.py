"""Aggregates that are recomputed from all values of a changed group; the stored value of the result has a slot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.engine.accumulators.slots import Result, Slots, reads
from deltic.engine.storage.single import writer
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type


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
