"""Percentiles: each has a position in the ordered values, which changes move."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.engine.accumulators.slots import Result, Slots, reads
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type


@reads("percentile", "percentile_disc")
def percentile(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slots of values at ranks; the first one has the result."""
    return Result.stored(slots.rank(call.columns, call))
