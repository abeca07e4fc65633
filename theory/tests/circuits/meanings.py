"""The other meanings of a circuit, and where they disagree with the reference interpreter's."""

from __future__ import annotations

from deltic.algebra.zset import ZSet
from deltic_theory.circuits.denotation import denote
from deltic_theory.circuits.machine import DataflowMachine
from deltic_theory.groups import Z_SETS
from deltic_theory.streams import Stream
from tests.circuit.meanings import by_interpreter


def by_machine(circuit, epochs):
    machine = DataflowMachine(circuit)
    return [machine.step(epoch) for epoch in epochs]


def by_denotation(circuit, epochs):
    names = {name for epoch in epochs for name in epoch}
    outputs = denote(circuit, {name: Stream.of(Z_SETS, [e.get(name, ZSet()) for e in epochs]) for name in names})
    return [{name: stream[t] for name, stream in outputs.items()} for t in range(len(epochs))]


def disagreement(circuit, epochs):
    """The names of the meanings that are not the interpreter's."""
    expected = by_interpreter(circuit, epochs)
    return [meaning.__name__ for meaning in (by_machine, by_denotation) if meaning(circuit, epochs) != expected]
