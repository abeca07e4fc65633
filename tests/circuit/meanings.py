"""The three meanings of a circuit, each from values of the sources to values of the sinks, step by step."""

from __future__ import annotations

from deltic.algebra.groups import Z_SETS
from deltic.algebra.streams import Stream
from deltic.algebra.zset import ZSet
from deltic.circuit.denotation import denote
from deltic.circuit.machine import DataflowMachine
from deltic.circuit.oracle.interpreter import Interpreter


def by_interpreter(circuit, epochs):
    interpreter = Interpreter(circuit)
    return [interpreter.step(epoch) for epoch in epochs]


def by_machine(circuit, epochs):
    machine = DataflowMachine(circuit)
    return [machine.step(epoch) for epoch in epochs]


def by_denotation(circuit, epochs):
    names = {name for epoch in epochs for name in epoch}
    outputs = denote(circuit, {name: Stream.of(Z_SETS, [e.get(name, ZSet()) for e in epochs]) for name in names})
    return [{name: stream[t] for name, stream in outputs.items()} for t in range(len(epochs))]
