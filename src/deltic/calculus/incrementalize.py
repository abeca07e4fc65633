"""Incrementalization: from a circuit Q to Q^Δ, which turns changes of inputs into changes of outputs."""

from __future__ import annotations

from deltic.calculus.derivatives import derivative_of
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder

# Operators whose value is computed from the values of their inputs, so that only sources and sets are kept.
_POINTWISE = (ops.Map, ops.Filter, ops.Plus, ops.Negate, ops.Join)


def incrementalize(circuit: Circuit) -> Circuit:
    """Q^Δ = D ∘ ↑Q ∘ I for a circuit Q without stream operators, node by node [DBSP Alg. 6.13].

    Sources, imports and feedbacks of the result carry changes; so do its sinks. A source that nothing
    reads stays, as the table that it is. Raises UnsupportedError for an operator without a derivative.
    """
    views = _Views(circuit)
    for number, node in enumerate(circuit.nodes):
        if isinstance(node.operator, ops.Source | ops.Sink):
            views.delta(number)
    return views.builder.build()


class _Views:
    """The views of the old circuit's nodes in the new one, made when they are first asked for."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.builder = CircuitBuilder(circuit.depth)
        self._deltas: dict[int, int] = {}

    def delta(self, number: int) -> int:
        if number not in self._deltas:
            node = self.circuit.nodes[number]
            self._deltas[number] = derivative_of(node.operator).rule(node.operator, node, self)
        return self._deltas[number]

    def new(self, number: int) -> int:
        node = self.circuit.nodes[number]
        if isinstance(node.operator, ops.Antijoin):
            return self.builder.add(node.operator, self.new(node.inputs[0]), self.kept(node.inputs[1]))
        if isinstance(node.operator, _POINTWISE):
            return self.builder.add(node.operator, *map(self.new, node.inputs))
        return self.kept(number)

    def old(self, number: int) -> int:
        node = self.circuit.nodes[number]
        if isinstance(node.operator, ops.Antijoin):
            return self.builder.add(node.operator, self.old(node.inputs[0]), self._was(node.inputs[1]))
        if isinstance(node.operator, _POINTWISE):
            return self.builder.add(node.operator, *map(self.old, node.inputs))
        return self._was(number)

    def kept(self, number: int) -> int:
        return self.builder.add(ops.Integrate(self.circuit.type_of(number).is_set), self.delta(number))

    def _was(self, number: int) -> int:
        return self.builder.add(ops.Delay(), self.kept(number))
