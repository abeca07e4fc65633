"""A percentile is kept with a place in the values in order, from which a change moves it."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.engine.accumulators.slots import Result, Slots, reads
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type


@reads("percentile", "percentile_disc")
def percentile(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """The first of the slots of values at ranks."""
    slot = slots.rank(call.columns, call)
    return lambda totals: (totals[:, slot], None)
