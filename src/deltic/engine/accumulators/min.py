"""The least value is kept, with all values in order: when it vanishes, the next is found by a walk."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.engine.accumulators.slots import Result, Slots, reads
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type


@reads("min")
def min_(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """The slot of the least value."""
    slot = slots.extreme(call.columns, least=True)
    return lambda totals: (totals[:, slot], None)
