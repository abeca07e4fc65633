"""The environment of a circuit: it feeds the inputs in steps and collects the outputs [DBSP §10]."""

from __future__ import annotations

from collections.abc import Mapping

from deltic.algebra.zset import ZSet
from deltic.circuit.graph import Circuit
from deltic.circuit.oracle.pointwise import Rows
from deltic_theory.circuits.machine.compile import Site, compile_circuit
from deltic_theory.circuits.machine.events import Data, Queue
from deltic_theory.circuits.machine.nodes import Controller, Output


class DataflowMachine:
    """A circuit as cooperating state machines; `step` takes one value of every input and gives one of every output."""

    def __init__(self, circuit: Circuit) -> None:
        self._queue = Queue()
        self._controller = Controller(level=0)
        site = Site(self._queue, self._controller, clock=0)
        sinks = compile_circuit(circuit, site)
        self._sources = site.sources
        self._outputs = {name: Output(self._queue) for name in sinks}
        for name, machine in sinks.items():
            machine.connect(self._outputs[name], 0)
        self.reset()

    def reset(self) -> None:
        """Forget all steps so far."""
        self._steps = 0
        self._controller.reset(0)

    def step(self, sources: Mapping[str, Rows]) -> dict[str, Rows]:
        """Return the values of the sinks for these values of the sources (absent: zero)."""
        self._controller.latch((self._steps,))
        for name, machine in self._sources.items():
            self._queue.send(machine, Data(0, sources.get(name, ZSet())))
        self._queue.deliver()
        self._steps += 1
        return {name: output.value for name, output in self._outputs.items()}
