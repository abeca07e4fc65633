"""The forms of demand on recursive relations, and the circuits through which demand is passed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit

Guard = frozenset[str]
Form = frozenset[Guard]
WHOLE: Form = frozenset()
"""The form of a relation of which all rows are demanded."""

Copy = tuple[str, Form]
Edge = tuple[int, int]
"""The number of a node and the position of one of its inputs."""


@dataclass(frozen=True)
class WalkedCircuit:
    """A circuit that is visited from the sinks down to the relations of the fixpoint.

    Its body, or the circuit around it.
    """

    circuit: Circuit
    below: frozenset[int]
    """The nodes that depend on those relations."""
    is_outer: bool

    @classmethod
    def of(cls, circuit: Circuit, ends: Collection[int], is_outer: bool) -> WalkedCircuit:
        """Build it for a circuit in which the relations of the fixpoint have the numbers `ends`."""
        below = set(ends)
        for number, node in enumerate(circuit.nodes):
            if not below.isdisjoint(node.inputs):
                below.add(number)
        return cls(circuit, frozenset(below), is_outer)

    def names(self, number: int) -> frozenset[str]:
        """Return the columns of a node."""
        return frozenset(self.circuit.type_of(number).schema.names)


def in_order(form: Form) -> list[Guard]:
    """Return the guards of a form, sorted by their columns."""
    return sorted(form, key=sorted)


def feedbacks(circuit: Circuit, number: int) -> set[str]:
    """Return the recursive relations that a node depends on."""
    operators = [circuit.nodes[n].operator for n in circuit.ancestors([number])]
    return {operator.name for operator in operators if isinstance(operator, ops.Feedback)}
