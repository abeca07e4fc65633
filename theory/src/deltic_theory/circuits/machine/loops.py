"""Loop entries and loop exits, δ₀ and ∫ as state machines [DBSP §10]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit.oracle.memory import DelayMemory, Time
from deltic.errors import UnsupportedError
from deltic_theory.circuits.machine.events import Data, Queue, Repeat
from deltic_theory.circuits.machine.nodes import Controller, Machine, Primitive


class Entry(Machine):
    """δ₀ on a bundle: data begins a loop by a reset; each iteration begins with a latch.

    All iterations but the first get zero. It stands in the circuit around the loop; `ports` are the nodes of the
    body that get the bundle's parts.
    """

    def __init__(self, queue: Queue, inputs: int, body: Controller, limit: int, keyword: str) -> None:
        super().__init__(queue, inputs)
        self._keyword = keyword
        self.ports = [Primitive(queue, 1, lambda value: value) for _ in range(inputs)]
        self.body = body
        self._limit = limit
        self._time: Time = ()
        self._iteration = 0

    def on_latch(self, time: Time) -> None:
        self._time = time

    def on_data(self, values: list[Any]) -> None:
        self._iteration = 0
        self.body.reset(self.body.level)
        self._begin(values)

    def on_repeat(self) -> None:
        self._iteration += 1
        if self._iteration == self._limit:
            raise UnsupportedError(f"{self._keyword}: no end after {self._limit} iterations")
        self._begin([ZSet()] * self.inputs)

    def _begin(self, values: Sequence[Any]) -> None:
        self.body.latch((*self._time, self._iteration))
        for port, value in zip(self.ports, values, strict=True):
            self.queue.send(port, Data(0, value))


@dataclass(frozen=True)
class Bundle:
    """What a circuit inside a circuit puts out: its relations, and how the values of its nodes went."""

    relations: Mapping[str, Any]
    trace: Sequence[Any] = ()


class Exit(Machine):
    """∫ on a bundle: adds up what arrives, asks for one more iteration while that is not zero, then emits the sums.

    In a loop over changes zero is no end before the iteration where the loop ended one step of its clocks ago.
    It stands in the body of the loop.
    """

    def __init__(
        self, queue: Queue, names: Sequence[str], entry: Entry, level: int, clocks: Sequence[int], watched: int = 0
    ) -> None:
        super().__init__(queue, len(names) + watched)
        self._names = names
        self._entry = entry
        self._level = level
        self._lengths = [DelayMemory(clock) for clock in clocks]
        self._iteration = 0
        self._sums: list[Any] = []

    def on_reset(self, level: int) -> None:
        for lengths in self._lengths:
            lengths.reset(level)
        self._sums = [ZSet()] * len(self._names)

    def on_latch(self, time: Time) -> None:
        for lengths in self._lengths:
            lengths.advance(time)
        self._iteration = time[-1]

    def on_data(self, values: list[Any]) -> None:
        changes, watched = values[: len(self._names)], values[len(self._names) :]
        self._sums = [total + value for total, value in zip(self._sums, changes, strict=True)]
        least = max((lengths.before(dropped=1) or 0 for lengths in self._lengths), default=0)
        if self.goes_on(changes, watched) or self._iteration + 1 < least:
            self.queue.send(self._entry, Repeat(), self._level)
        else:
            self._leave(changes)

    def _leave(self, changes: list[Any]) -> None:
        for name, change in zip(self._names, changes, strict=True):
            if change:
                raise UnsupportedError(f"bracket: ∫ of sink {name} has no end, it rests at {change}")
        for lengths in self._lengths:
            lengths.put(self._iteration + 1, dropped=1)
        self.emit(Bundle(dict(zip(self._names, self._sums, strict=True)), self.trace))

    def goes_on(self, changes: list[Any], watched: list[Any]) -> bool:
        """Return whether there has to be another iteration."""
        return any(changes)

    @property
    def trace(self) -> Sequence[Any]:
        """What was watched, iteration by iteration."""
        return ()


class WatchingExit(Exit):
    """∫ of a body whose output may be zero at an iteration and not at a later one.

    All nodes of the body are connected to it, and it asks for iterations until none of them changes any more.
    """

    def on_reset(self, level: int) -> None:
        super().on_reset(level)
        self._seen: list[Any] = []

    def goes_on(self, changes: list[Any], watched: list[Any]) -> bool:
        self._seen.append(watched)
        return len(self._seen) == 1 or self._seen[-1] != self._seen[-2]

    @property
    def trace(self) -> Sequence[Any]:
        return tuple(self._seen)
