"""The greatest value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.circuit.accumulators.min import plain, present
from deltic.values import in_order
from deltic.values.types import Type


@accumulator
class Max(Accumulator):
    """The greatest of the values whose weights add up to more than zero, in the order of comparisons."""

    name = "max"
    picks = True
    of_sets = True
    keeps = "all values in order, and which one it is"

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_ordered

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        there = present(totals)
        return plain(max(there, key=in_order)) if there else None
