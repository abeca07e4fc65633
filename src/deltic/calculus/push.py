"""Step 5 of [DBSP Alg. 6.13]: D is pushed through the circuit towards I, where both cancel."""

from __future__ import annotations

from collections.abc import Callable

from deltic.calculus.derivatives import derivative_of
from deltic.calculus.surround import surround
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder

# Operators whose value is computed from the values of their inputs, so that only sources and sets have state.
_POINTWISE = (ops.Map, ops.Filter, ops.Plus, ops.Negate, ops.Join, ops.JoinDelta, ops.AntijoinDelta)


def push(circuit: Circuit, outer: int = 0) -> Circuit:
    """Return the circuit with every D(x) in the time `outer` replaced by a circuit that computes the change of x from
    changes.

    By the chain rule [DBSP Prop. 4.2] the change of a node is what the derivative table computes from its inputs'
    changes; by inversion D(I(a)) is a; by the cycle rule a back-edge carries changes. Unread sources are kept.
    """
    changing: frozenset[str] = frozenset()
    while True:
        try:
            return Derivatives(circuit, outer, changing).build()
        except _BackEdgeReached as reached:
            changing |= {reached.name}


class _BackEdgeReached(Exception):
    """D was taken of a back-edge that does not carry changes yet; the derivation starts again with it."""

    def __init__(self, name: str) -> None:
        self.name = name


class Derivatives:
    """The views of the old circuit's nodes in the new one, created on first use.

    `changing` are the names of the back-edges that carry changes. The old circuit may be an unfinished builder, then
    without back-edges.
    """

    def __init__(
        self, circuit: Circuit | CircuitBuilder, outer: int = 0, changing: frozenset[str] = frozenset()
    ) -> None:
        self.circuit = circuit
        self.outer = outer
        self.changing = changing
        self.builder = CircuitBuilder(circuit.depth)
        self._deltas: dict[int, int] = {}
        self._values: dict[int, int] = {}
        self._news: dict[int, int] = {}
        self._olds: dict[int, int] = {}
        self._open: list[str] = []

    def build(self) -> Circuit:
        """Build the new circuit, with all sources and sinks."""
        for number, node in enumerate(self.circuit.nodes):
            if isinstance(node.operator, ops.Source | ops.Sink):
                self.value(number)
        self._close()
        return self.builder.build()

    def value(self, number: int) -> int:
        """Return the undifferentiated stream of the node; for a back-edge that carries changes, I of them."""
        if number not in self._values:
            self._values[number] = self._value(number)
        return self._values[number]

    def _value(self, number: int) -> int:
        node = self.circuit.nodes[number]
        if node.operator == ops.Differentiate(outer=self.outer):
            return self.delta(node.inputs[0])
        if isinstance(node.operator, ops.BackEdge):
            if node.operator.name in self.changing:
                return self.kept(number)
            self._open.append(node.operator.name)
        if isinstance(node.operator, ops.Window):  # of which the window is kept, not what it is taken of
            return self.kept(number)
        return self.builder.add(node.operator, *map(self.value, node.inputs))

    def delta(self, number: int) -> int:
        if number not in self._deltas:
            self._deltas[number] = self._delta(number)
        return self._deltas[number]

    def _delta(self, number: int) -> int:
        node = self.circuit.nodes[number]
        if isinstance(node.operator, ops.BackEdge):
            if node.operator.name not in self.changing:
                raise _BackEdgeReached(node.operator.name)
            self._open.append(node.operator.name)
        return derivative_of(type(node.operator)).rule(node.operator, node, self)

    def body(self, circuit: Circuit, outer: int) -> Circuit:
        return push(surround(circuit, outer), outer)

    def _close(self) -> None:
        """Close the back-edges that were read, with changes or with values."""
        while self._open:
            assert isinstance(self.circuit, Circuit)
            name = self._open.pop()
            end = self.circuit.nodes[self.circuit.closes[name]]
            carried = self.delta if name in self.changing else self.value
            self.builder.add(end.operator, *map(carried, end.inputs))

    def new(self, number: int) -> int:
        if number not in self._news:
            self._news[number] = self._at(number, self.new, self.kept)
        return self._news[number]

    def old(self, number: int) -> int:
        if number not in self._olds:
            self._olds[number] = self._at(number, self.old, self._was)
        return self._olds[number]

    def _at(self, number: int, state: Callable[[int], int], stored: Callable[[int], int]) -> int:
        """Return a node in a state, computed from that state of its inputs where that is cheap, else from what is
        stored.
        """
        node = self.circuit.nodes[number]
        if isinstance(node.operator, ops.Antijoin):
            return self.builder.add(node.operator, state(node.inputs[0]), stored(node.inputs[1]))
        if isinstance(node.operator, _POINTWISE):
            return self.builder.add(node.operator, *map(state, node.inputs))
        return stored(number)

    def kept(self, number: int) -> int:
        integral = ops.Integrate(self.circuit.type_of(number).is_set, outer=self.outer)
        return self.builder.add(integral, self.delta(number))

    def _was(self, number: int) -> int:
        return self.builder.add(ops.Delay(outer=self.outer), self.kept(number))
