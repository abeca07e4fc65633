"""Circuits: immutable, typed graphs of operators, and the builder that is the only way to make one [DBSP §9].

The builder accepts what the rules of [DBSP §9.4] build:

* §9.4.1 single node, §9.4.3 composition: `add` puts a node after those that it reads.
* §9.4.2 delay: ``add(Delay(), n)``; ``add(Delay(outer=1), n)`` counts the steps of the circuit around it.
* §9.4.4 back-edge: ``past = add(BackEdge("r", schema))``, then nodes that read `past`, then ``add(Close("r"), last)``.
  With a `Plus` of `past` and an input it is the rule as printed.
* §9.4.5 lifting: needs no call, an operator works at each time of the circuit that contains it. A whole
  circuit becomes an operator by ``Call(circuit)``.
* §9.4.6 bracketing: ``add(Bracket(body), *inputs)`` for a body built by ``CircuitBuilder(depth + 1)``. Its imports
  are δ₀ of the inputs, its sinks are added up by ∫; ``BundleRelation(name)`` reads one of them. A `Fixpoint` is a
  bracket with I after each import, D before each sink, and a back-edge from each sink to the feedback of its name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from deltic.circuit.edges import EdgeType, ZSetType
from deltic.circuit.operators import BackEdge, BundleRelation, Close, Distinct, Operator, Sink
from deltic.errors import CircuitError
from deltic.html import picture


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
    def _hash(self) -> int:
        return hash((self.nodes, self.depth))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        return {"nodes": self.nodes, "depth": self.depth}  # a hash is of one process

    @cached_property
    def sinks(self) -> dict[str, int]:
        """The outputs by name: the number of the node that feeds each sink."""
        return {n.operator.name: n.inputs[0] for n in self.nodes if isinstance(n.operator, Sink)}

    @property
    def sink_types(self) -> dict[str, ZSetType]:
        """The types of the sinks by name."""
        return {name: self.type_of(number) for name, number in self.sinks.items()}

    @property
    def operators(self) -> Iterator[Operator]:
        """The operators of all nodes, in order."""
        return (node.operator for node in self.nodes)

    @cached_property
    def kinds(self) -> frozenset[type[Operator]]:
        """The types of its operators, including those in nested circuits."""
        own = {type(operator) for operator in self.operators}
        return frozenset(own.union(*(body.kinds for operator in self.operators for _, body in operator.bodies())))

    def node(self, number: int) -> Node:
        """Return the node of that number."""
        return self.nodes[number]

    def type_of(self, number: int) -> ZSetType:
        """Return the type of a node that carries one Z-set."""
        type_ = self.nodes[number].type
        assert isinstance(type_, ZSetType)
        return type_

    @cached_property
    def closes(self) -> dict[str, int]:
        """The starts of the back-edges by name: the number of each `Close`."""
        return {n.operator.name: i for i, n in enumerate(self.nodes) if isinstance(n.operator, Close)}

    @cached_property
    def reach(self) -> int:
        """How far outward its delays count time: 0 for its own steps, 1 for the steps of the circuit around it, …"""
        return max((operator.reach for operator in self.operators), default=0)

    @cached_property
    def readers(self) -> Sequence[Sequence[int]]:
        """For each node the nodes that read it, once for each of their inputs."""
        result: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            for source in node.inputs:
                result[source].append(number)
        return result

    @property
    def are_sets(self) -> bool:
        """Whether all sinks are sets."""
        return all(self.type_of(number).is_set for number in self.sinks.values())

    @property
    def components_read(self) -> Mapping[int, set[str]]:
        """For each bundle the relations that are read from it."""
        result = defaultdict[int, set[str]](set)
        for node in self.nodes:
            if isinstance(node.operator, BundleRelation):
                result[node.inputs[0]].add(node.operator.name)
        return result

    def ancestors(self, numbers: Sequence[int]) -> set[int]:
        """Return the given nodes and all nodes that they depend on, now or through back-edges."""
        reached: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number not in reached:
                reached.add(number)
                operator = self.nodes[number].operator
                pending.extend(self.nodes[number].inputs)
                pending.extend([self.closes[operator.name]] if isinstance(operator, BackEdge) else [])
        return reached

    def part(self, *sinks: str) -> Circuit:
        """Return the circuit of these sinks alone, its nodes renumbered."""
        ends = [
            i for i, node in enumerate(self.nodes) if isinstance(node.operator, Sink) and node.operator.name in sinks
        ]
        kept = sorted(self.ancestors(ends))
        numbers = {old: new for new, old in enumerate(kept)}
        nodes = (replace(self.nodes[n], inputs=tuple(numbers[i] for i in self.nodes[n].inputs)) for n in kept)
        return Circuit(tuple(nodes), self.depth)

    def with_operators(self, change: Callable[[int, Operator], Operator], depth: int | None = None) -> Circuit:
        """Return the circuit with other operators on the same edges, by the numbers of the nodes, perhaps at another
        depth.
        """
        numbers = count()
        return self.rebuilt(lambda b, node, inputs: b.add(change(next(numbers), node.operator), *inputs), depth)

    def rebuilt(self, add: Callable[[CircuitBuilder, Node, list[int]], int], depth: int | None = None) -> Circuit:
        """Return the circuit of the nodes that `add` makes of each node over the new numbers of its inputs."""
        builder, numbers = CircuitBuilder(self.depth if depth is None else depth), list[int]()
        for node in self.nodes:
            numbers.append(add(builder, node, [numbers[i] for i in node.inputs]))
        return builder.build()

    def __repr__(self) -> str:
        """Return the circuit as text: ``%number = operator arguments (inputs) : type``, bodies indented."""
        return "\n".join(self._lines(""))

    def _repr_html_(self) -> str:
        """Return the picture of the circuit, for notebooks."""
        from deltic.circuit.drawing import to_svg

        return picture(to_svg({", ".join(self.sinks): self}))

    def _lines(self, indent: str) -> Iterator[str]:
        for number, node in enumerate(self.nodes):
            arguments = node.operator.arguments()
            inputs = ", ".join(f"%{i}" for i in node.inputs)
            head = f"{indent}%{number} = {node.operator.keyword}"
            head += (f" {arguments}" if arguments else "") + (f" ({inputs})" if inputs else "")
            yield f"{head} : {node.type}"
            for label, body in node.operator.bodies():
                yield f"{indent}  {label} {{"
                yield from body._lines(indent + "    ")
                yield f"{indent}  }}"


@dataclass
class CircuitBuilder:
    """Builds a circuit node by node; equal nodes with equal inputs are one node.

    A node can be added only after its inputs and only where its types fit. A cycle is added in two halves, a
    `BackEdge` that its nodes may read and a `Close` of one of them, and `build` checks that they match.
    """

    depth: int = 0
    _nodes: list[Node] = field(default_factory=list)
    _numbers: dict[tuple[Operator, tuple[int, ...]], int] = field(default_factory=dict)
    _names: set[tuple[str, str]] = field(default_factory=set)

    def add(self, operator: Operator, *inputs: int) -> int:
        """Add a node and return its number; raises CircuitError when the operator cannot take its inputs."""
        key = (operator, inputs)
        if key not in self._numbers:
            for number in inputs:
                if not 0 <= number < len(self._nodes):
                    label = f"%{len(self._nodes)} = {operator.label}"
                    raise CircuitError(f"{label}: there is no node %{number} [DBSP §9.4.3 composition]")
            try:
                type_ = operator.output([self._nodes[i].type for i in inputs], self.depth)
                self._check_name(operator)
            except CircuitError as error:
                raise CircuitError(f"%{len(self._nodes)} = {error}") from None
            self._numbers[key] = len(self._nodes)
            self._nodes.append(Node(operator, inputs, type_))
        return self._numbers[key]

    def distinct(self, number: int) -> int:
        """Return the set of the rows of a node: the node itself where it is one."""
        return number if self.type_of(number).is_set else self.add(Distinct(), number)

    def repeat(self, node: Node, *inputs: int) -> int:
        """Add a node of another circuit over nodes of the types that its inputs have there, and return its number."""
        key = (node.operator, inputs)
        if key not in self._numbers:
            self._check_name(node.operator)
            self._numbers[key] = len(self._nodes)
            self._nodes.append(node if inputs == node.inputs else Node(node.operator, inputs, node.type))
        return self._numbers[key]

    def _check_name(self, operator: Operator) -> None:
        if isinstance(operator, Sink | Close | BackEdge):
            name = (operator.keyword, operator.name)
            if name in self._names:
                raise CircuitError(
                    f"{operator.label}: there is another {operator.keyword} of that name [DBSP {operator.rule}]"
                )
            self._names.add(name)

    def node(self, number: int) -> Node:
        """Return the node of that number."""
        return self._nodes[number]

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes so far, in order."""
        return self._nodes

    @property
    def operators(self) -> Sequence[Operator]:
        """The operators of all nodes so far, in order."""
        return [node.operator for node in self._nodes]

    def type_of(self, number: int) -> ZSetType:
        """Return the type of a node that carries one Z-set; raises CircuitError for a bundle."""
        type_ = self._nodes[number].type
        if not isinstance(type_, ZSetType):
            raise CircuitError(f"%{number} carries {type_}, not a Z-set; take one of its components")
        return type_

    def build(self) -> Circuit:
        """Return the circuit of all nodes added so far; raises CircuitError where a back-edge is not whole."""
        circuit = Circuit(tuple(self._nodes), self.depth)
        ends = {n.operator.name: i for i, n in enumerate(self._nodes) if isinstance(n.operator, BackEdge)}
        for name in {**ends, **circuit.closes}:
            self._check_back_edge(ends.get(name), circuit.closes.get(name))
        return circuit

    def _check_back_edge(self, end: int | None, close: int | None) -> None:
        """Raise CircuitError unless both halves exist and the closed node has the type of the back-edge."""
        for here, missing in ((end, "close" if close is None else ""), (close, "back_edge" if end is None else "")):
            if here is not None and missing:
                label = f"%{here} = {self._nodes[here].operator.label}"
                raise CircuitError(f"{label}: there is no {missing} of that name [DBSP §9.4.4 back-edge]")
        if end is not None and close is not None:
            wanted, result = self.type_of(end), self.type_of(close)
            if wanted.schema != result.schema or (wanted.is_set and not result.is_set):
                label = f"%{close} = {self._nodes[close].operator.label}"
                raise CircuitError(f"{label}: %{end} carries {wanted}, not {result} [DBSP §9.4.4 back-edge]")
