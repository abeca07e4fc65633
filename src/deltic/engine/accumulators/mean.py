"""The mean: an exact sum divided by the number of values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.engine.accumulators.decimals import DECIMALS, decimal_sums
from deltic.engine.accumulators.exact import rounded_by
from deltic.engine.accumulators.slots import Result, Slots, Totals, reads
from deltic.engine.operators import numbers
from deltic.engine.storage.layout import Column
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values.types import Kind, Type


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

    return result
