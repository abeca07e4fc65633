"""The number of rows is kept of every group, and that of values where they may be NULL.

The number of different values is kept with the values, of which each change says what appears and vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence

from deltic.engine.accumulators.slots import Result, Slots, reads
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type


@reads("count")
def count(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """One slot."""
    slot = slots.count(call.columns)
    return lambda totals: (totals[:, slot], None)


@reads("count_distinct")
def count_distinct(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """The slot of the number of different values."""
    slot = slots.values(call.columns).present
    return lambda totals: (totals[:, slot], None)
