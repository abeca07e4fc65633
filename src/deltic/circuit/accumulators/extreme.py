"""Minimum and maximum, and the value of one column where another is least or greatest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, register
from deltic.values import in_order
from deltic.values.types import Column, Type


class Extreme(Accumulator):
    """The least or greatest of the values whose total weight is positive, in the order of comparisons."""

    picks = True
    of_sets = True
    keeps = "all values in order, and which one it is"

    def __init__(self, name: str, least: bool) -> None:
        self.name, self.least = name, least

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_ordered

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        there = present(totals)
        return plain((min if self.least else max)(there, key=in_order)) if there else None


class ExtremeBy(Accumulator):
    """Of columns x and y, the x of the row with the extreme y; ties are broken by the extreme x, with NULL least.

    A row counts where y is not NULL.
    """

    of_sets = True
    keeps = "all pairs in order, and which one it is"

    def __init__(self, name: str, least: bool) -> None:
        self.name, self.least = name, least

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 2 and all(type_.is_ordered for type_ in types)

    def needed(self, columns: int) -> Sequence[int]:
        return (1,)

    def is_partial(self, sources: Sequence[Column]) -> bool:
        return sources[0].nullable

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        there = present(totals)
        if not there:
            return None
        value, _ = (min if self.least else max)(there, key=lambda pair: in_order((pair[1], pair[0])))
        return plain(value)


def present(totals: Totals) -> list[Any]:
    """Return the values with a positive weight."""
    return [value for value, weight in totals.items() if weight > 0]


def plain(value: Any) -> Any:
    """Return the value, with negative zero replaced by zero, which is equal to it."""
    return value + 0.0 if isinstance(value, float) and not math.isnan(value) else value


register(
    Extreme("min", True),
    Extreme("max", False),
    ExtremeBy("min_by", True),
    ExtremeBy("max_by", False),
)
