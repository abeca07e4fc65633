"""Circuits: immutable, typed graphs of operators, and the builder that is the only way to make one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from deltic.circuit.operators import Operator, Sink
from deltic.circuit.types import EdgeType, ZSetType
from deltic.errors import CircuitError


@dataclass(frozen=True)
class Node:
    """An operator with the numbers of the nodes that feed it; its inputs precede it in the circuit."""

    operator: Operator
    inputs: tuple[int, ...]
    type: EdgeType


@dataclass(frozen=True)
class Circuit:
    """The nodes in a topological order; a node's number is its position.

    `depth` is the nesting of its streams: 0 for a whole program, 1 for the body of a fixpoint in it.
    """

    nodes: tuple[Node, ...]
    depth: int = 0

    @cached_property
    def sinks(self) -> dict[str, int]:
        """The outputs by name: the number of the node that feeds each sink."""
        return {n.operator.name: n.inputs[0] for n in self.nodes if isinstance(n.operator, Sink)}

    @property
    def operators(self) -> Iterator[Operator]:
        """The operators of all nodes, in order."""
        return (node.operator for node in self.nodes)

    def type_of(self, number: int) -> ZSetType:
        """The type of a node that carries one Z-set."""
        type_ = self.nodes[number].type
        assert isinstance(type_, ZSetType)
        return type_

    def ancestors(self, numbers: Sequence[int]) -> set[int]:
        """The given nodes and all nodes that they depend on."""
        reached: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number not in reached:
                reached.add(number)
                pending.extend(self.nodes[number].inputs)
        return reached

    def part(self, sink: str) -> Circuit:
        """The circuit of one sink alone, its nodes numbered anew."""
        feeding = self.sinks[sink]
        kept = sorted(self.ancestors([feeding]))
        numbers = {old: new for new, old in enumerate(kept)}
        nodes = [replace(self.nodes[n], inputs=tuple(numbers[i] for i in self.nodes[n].inputs)) for n in kept]
        end = next(n for n in self.nodes if isinstance(n.operator, Sink) and n.operator.name == sink)
        return Circuit((*nodes, replace(end, inputs=(numbers[feeding],))), self.depth)

    def __str__(self) -> str:
        from deltic.circuit.text import to_text

        return to_text(self)


@dataclass
class CircuitBuilder:
    """Builds a circuit node by node; equal nodes with equal inputs are one node.

    A node can be added only after its inputs and only where its types fit, and a back-edge exists only
    as the feedback of a fixpoint, through z⁻¹: an ill-formed graph cannot be built [DBSP §9.4].
    """

    depth: int = 0
    _nodes: list[Node] = field(default_factory=list)
    _numbers: dict[tuple[Operator, tuple[int, ...]], int] = field(default_factory=dict)
    _sinks: set[str] = field(default_factory=set)

    def add(self, operator: Operator, *inputs: int) -> int:
        """Add a node and return its number; raises CircuitError when the operator cannot take its inputs."""
        key = (operator, inputs)
        if key not in self._numbers:
            for number in inputs:
                if not 0 <= number < len(self._nodes):
                    raise CircuitError(f"{operator.keyword}: there is no node %{number}")
            type_ = operator.output([self._nodes[i].type for i in inputs], self.depth)
            self._check_name(operator)
            self._numbers[key] = len(self._nodes)
            self._nodes.append(Node(operator, inputs, type_))
        return self._numbers[key]

    def _check_name(self, operator: Operator) -> None:
        if isinstance(operator, Sink):
            if operator.name in self._sinks:
                raise CircuitError(f"sink {operator.name}: there is another sink of that name")
            self._sinks.add(operator.name)

    def node(self, number: int) -> Node:
        """The node of that number."""
        return self._nodes[number]

    def type_of(self, number: int) -> ZSetType:
        """The type of a node that carries one Z-set; raises CircuitError for a bundle."""
        type_ = self._nodes[number].type
        if not isinstance(type_, ZSetType):
            raise CircuitError(f"%{number} carries {type_}, not a Z-set; take one of its components")
        return type_

    def build(self) -> Circuit:
        """The circuit of all nodes added so far."""
        return Circuit(tuple(self._nodes), self.depth)
