"""Counts: the number of rows of each group is always stored, and that of non-NULL values if they are nullable.

The number of distinct values is stored with the ordered values: each change says which values appear and vanish.
"""

from __future__ import annotations

from collections.abc import Sequence

from deltic.engine.accumulators.slots import Result, Slots, reads
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Type


@reads("count")
def count(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate one slot."""
    return Result.stored(slots.count(call.columns))


@reads("count_distinct")
def count_distinct(slots: Slots, call: GroupedAggregate, types: Sequence[Type]) -> Result:
    """Allocate the slot of the number of distinct values."""
    return Result.stored(slots.values(call.columns).present)
