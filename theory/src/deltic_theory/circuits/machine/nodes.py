"""The state machines of the nodes and of circuits, one class for each kind [DBSP §10]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltic.algebra.zset import ZSet
from deltic.circuit.oracle.memory import DelayMemory, Time
from deltic_theory.circuits.machine.events import Data, Event, Latch, Queue, Receiver, Repeat, Reset


class Machine:
    """A node with one output, connected to input ports of others by channels that hold at most one value."""

    def __init__(self, queue: Queue, inputs: int) -> None:
        self.queue = queue
        self.inputs = inputs
        self._targets: list[tuple[Receiver, int]] = []
        self._arrived: dict[int, Any] = {}

    def connect(self, target: Receiver, port: int) -> None:
        """Send every output to that port as well."""
        self._targets.append((target, port))

    def emit(self, value: Any) -> None:
        """Send a value to all connected ports."""
        for target, port in self._targets:
            self.queue.send(target, Data(port, value))

    def receive(self, event: Event) -> None:
        """Take an event; data is taken as a whole when it is there on all inputs."""
        match event:
            case Reset(level):
                self.on_reset(level)
            case Latch(time):
                self.on_latch(time)
                if not self.inputs:
                    self.on_data([])
            case Data(port, value):
                self._arrive(port, value)
            case Repeat():
                self.on_repeat()

    def _arrive(self, port: int, value: Any) -> None:
        assert port not in self._arrived, "a channel holds one value at most"
        self._arrived[port] = value
        if len(self._arrived) == self.inputs:
            values = [self._arrived[i] for i in range(self.inputs)]
            self._arrived.clear()
            self.on_data(values)

    def on_reset(self, level: int) -> None:
        """Start again, where the node keeps anything."""

    def on_latch(self, time: Time) -> None:
        """Begin a step."""

    def on_data(self, values: list[Any]) -> None:
        """All inputs have arrived."""

    def on_repeat(self) -> None:
        """Begin an iteration; loop entries only."""


class Primitive(Machine):
    """A lifted function: when data is on all inputs, its value is sent; without inputs, at each latch."""

    def __init__(self, queue: Queue, inputs: int, function: Callable[..., Any]) -> None:
        super().__init__(queue, inputs)
        self._function = function

    def on_data(self, values: list[Any]) -> None:
        self.emit(self._function(*values))


class Delay(Machine):
    """z⁻¹: at a latch it emits what arrived one step of its clock ago, zero at first.

    In loops within a step of its clock, where it delays nested streams, it keeps a value for each iteration.
    """

    def __init__(self, queue: Queue, clock: int) -> None:
        super().__init__(queue, 1)
        self._memory = DelayMemory(clock)

    def on_reset(self, level: int) -> None:
        self._memory.reset(level)

    def on_latch(self, time: Time) -> None:
        self._memory.advance(time)
        before = self._memory.before()
        self.emit(ZSet() if before is None else before)

    def on_data(self, values: list[Any]) -> None:
        self._memory.put(values[0])


class Output(Machine):
    """An output port of the whole circuit: the environment takes the value from here."""

    def __init__(self, queue: Queue) -> None:
        super().__init__(queue, 1)
        self.value: Any = None

    def on_data(self, values: list[Any]) -> None:
        (self.value,) = values


class Controller:
    """A circuit: it passes reset and latch events on to its nodes, resets also to the circuits inside it."""

    def __init__(self, level: int) -> None:
        self.level = level
        self.nodes: list[Machine] = []
        self.inner: list[Controller] = []

    def reset(self, level: int) -> None:
        """Start again, together with the circuit of that level around this one, or with this one."""
        for node in self.nodes:
            node.receive(Reset(level))
        for controller in self.inner:
            controller.reset(level)

    def latch(self, time: Time) -> None:
        """Begin a step."""
        for node in self.nodes:
            node.receive(Latch(time))
