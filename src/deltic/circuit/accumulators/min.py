"""The least value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.values import in_order
from deltic.values.types import Type


@accumulator
class Min(Accumulator):
    """The least of the values whose weights add up to more than zero, in the order of comparisons."""

    name = "min"
    picks = True
    of_sets = True
    keeps = "all values in order, and which one it is"

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_ordered

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        there = present(totals)
        return plain(min(there, key=in_order)) if there else None


def present(totals: Totals) -> list[Any]:
    """The values that are there."""
    return [value for value, weight in totals.items() if weight > 0]


def plain(value: Any) -> Any:
    """The value; zero for the negative zero, which is equal to it."""
    return value + 0.0 if isinstance(value, float) and not math.isnan(value) else value
