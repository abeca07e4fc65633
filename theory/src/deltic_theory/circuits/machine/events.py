"""The four events that the machines send each other, and the queue that delivers them [DBSP §10]."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from deltic.circuit.oracle.memory import Time


@dataclass(frozen=True)
class Reset:
    """A circuit starts again: the memory of its delays is zero again. `level` is how many loops are around it."""

    level: int


@dataclass(frozen=True)
class Latch:
    """A step of a circuit begins: its delays emit what they keep."""

    time: Time


@dataclass(frozen=True)
class Data:
    """A value arrives at an input port."""

    port: int
    value: Any


@dataclass(frozen=True)
class Repeat:
    """A loop has to make one more iteration."""


Event: TypeAlias = Reset | Latch | Data | Repeat


class Receiver(Protocol):
    """A machine: it answers an event by sending others."""

    def receive(self, event: Event) -> None:
        """Take an event."""


@dataclass
class Queue:
    """Events on their way, delivered in the order in which they were sent.

    Repeat events wait until all others are delivered, those of inner loops before those of outer ones: an iteration
    begins when the one before it has reached every node, so that a channel never holds two values.
    """

    _pending: list[tuple[tuple[int, int], int, Receiver, Event]] = field(default_factory=list)
    _sent: int = 0

    def send(self, receiver: Receiver, event: Event, level: int = 0) -> None:
        """Put an event on its way; `level` is that of the loop to repeat."""
        rank = (1, -level) if isinstance(event, Repeat) else (0, 0)
        self._sent += 1
        heapq.heappush(self._pending, (rank, self._sent, receiver, event))

    def deliver(self) -> None:
        """Deliver all events, also those that are sent on the way."""
        while self._pending:
            _, _, receiver, event = heapq.heappop(self._pending)
            receiver.receive(event)
