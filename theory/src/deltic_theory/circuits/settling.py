"""When the iterations of a bracket are over: as a function of the time of the circuit around it [DBSP §5.1.3]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit.oracle.memory import Time
from deltic.errors import UnsupportedError
from deltic_theory.streams import Stream


def at(stream: Stream[Any], time: Time) -> Any:
    """Return the value of a nested stream at a time of each of its nestings."""
    return reduce(lambda inner, t: inner[t], time, stream)


@dataclass(frozen=True)
class Settling:
    """The length of a body's iterations at each time of the circuit around it.

    `observed` gives the values of all nodes of the body at a time. A body whose delays count its iterations alone is
    at rest when they are equal at two iterations. The delays that count one of the `clocks`, outer times, change
    nothing any more either when the iterations of one step before on these clocks had come to rest.
    """

    observed: Callable[[Time], Any]
    clocks: tuple[int, ...]
    limit: int
    _lengths: dict[Time, int] = field(default_factory=dict)

    def length(self, time: Time) -> int:
        """Return the number of iterations at a time; raises UnsupportedError where there is no end."""
        if time not in self._lengths:
            self._lengths[time] = self._search(time)
        return self._lengths[time]

    def _search(self, time: Time) -> int:
        befores = [(*time[:c], time[c] - 1, *time[c + 1 :]) for c in self.clocks if time[c]]
        least = max((self.length(before) for before in befores), default=0)
        for iteration in range(max(1, least - 1), self.limit):
            if self.observed((*time, iteration)) == self.observed((*time, iteration - 1)):
                return iteration + 1
        raise UnsupportedError(f"bracket: no end after {self.limit} iterations")

    def total(self, name: str, stream: Stream[Any], time: Time) -> Any:
        """∫ of the body's sink `name` at a time of the circuit around it."""
        values = [at(stream, (*time, iteration)) for iteration in range(self.length(time))]
        if values[-1]:
            raise UnsupportedError(f"bracket: ∫ of sink {name} has no end, it rests at {values[-1]}")
        total: ZSet[Any] = reduce(ZSet.__add__, values)
        return total
