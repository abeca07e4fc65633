"""Percentiles: a value at a given fraction of the sorted values, interpolated or taken from them."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from deltic.circuit.accumulators.accumulator import Accumulator, Parameter, Totals, accumulator
from deltic.circuit.accumulators.extreme import plain, present
from deltic.values import in_order
from deltic.values.numbers import round_float
from deltic.values.types import Type


class Ranked(Accumulator):
    """A function of the values at certain ranks, which depend on the number of values.

    Its parameters are the fraction, from 0 to 1, and whether to count from the greatest value down.
    """

    keeps = "all values in order, and the place in them; a change moves it past no more values than it has rows"

    def accepts(self, parameters: Sequence[Parameter], columns: int) -> bool:
        match parameters:
            case [float(part), bool()]:
                return 0 <= part <= 1
        return False

    def value(self, totals: Totals, types: Sequence[Type], parameters: Sequence[Parameter]) -> Any:
        there = sorted(present(totals), key=in_order)
        if not there:
            return None
        ends = list(itertools.accumulate(totals[value] for value in there))
        ranks = self.ranks(parameters, ends[-1])
        result = [plain(next(v for v, end in zip(there, ends, strict=True) if end > rank)) for rank in ranks]
        return self.between(parameters, ends[-1], result)

    @abstractmethod
    def ranks(self, parameters: Sequence[Parameter], count: int) -> tuple[int, ...]:
        """Return the ranks of the values that the result needs, from 0 for the least, for `count` values, one or
        more.
        """

    @abstractmethod
    def between(self, parameters: Sequence[Parameter], count: int, values: Sequence[Any]) -> Any:
        """Return the result from the values at these ranks."""


@accumulator
class Percentile(Ranked):
    """Interpolates linearly between the two nearest values, in Spark's floating-point arithmetic."""

    name = "percentile"

    def takes(self, types: Sequence[Type]) -> bool:
        return list(types) == [Type.FLOAT64]

    def ranks(self, parameters: Sequence[Parameter], count: int) -> tuple[int, ...]:
        part, descending = parameters
        place = float(part) * (count - 1)
        ranks = math.floor(place), math.ceil(place)
        return (count - 1 - ranks[0], count - 1 - ranks[1]) if descending else ranks

    def between(self, parameters: Sequence[Parameter], count: int, values: Sequence[Any]) -> Any:
        first, second = values
        if first == second:
            return first
        place = float(parameters[0]) * (count - 1)
        return round_float((math.ceil(place) - place) * first + (place - math.floor(place)) * second, Type.FLOAT64)


@accumulator
class PercentileDisc(Ranked):
    """The first value whose cumulative share is at least the fraction."""

    name = "percentile_disc"

    def takes(self, types: Sequence[Type]) -> bool:
        return len(types) == 1 and types[0].is_ordered

    def ranks(self, parameters: Sequence[Parameter], count: int) -> tuple[int, ...]:
        part, descending = parameters
        rank = max(math.ceil(float(part) * count), 1) - 1
        return (count - 1 - rank if descending else rank,)

    def between(self, parameters: Sequence[Parameter], count: int, values: Sequence[Any]) -> Any:
        return values[0]
