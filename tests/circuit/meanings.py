"""The meaning of a circuit by the reference interpreter: from values of the sources to those of the sinks, by steps."""

from __future__ import annotations

from deltic.circuit.oracle.interpreter import Interpreter
from deltic.errors import UnsupportedError
from tests.differential.circuits import integrals


def by_interpreter(circuit, epochs):
    interpreter = Interpreter(circuit)
    return [interpreter.step(epoch) for epoch in epochs]


def ends(circuit, epochs):
    """Whether the circuit has a meaning for the epochs as values and as changes: its fixpoints come to rest."""
    try:
        by_interpreter(circuit, epochs)
        by_interpreter(circuit, integrals(epochs))
    except UnsupportedError:
        return False
    return True
