"""Replacing calls of circuits by their nodes [DBSP §9.4.3, §9.4.5]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.edges import ZSetType
from deltic.circuit.graph import Circuit, CircuitBuilder, Node
from deltic.circuit.operators.nesting import deeper
from deltic.depth import deep

Numbers = int | dict[str, int]
"""The number of a node, or the numbers of the relations of an inlined call."""


@deep
def inline(circuit: Circuit) -> Circuit:
    """Return the circuit without calls: the nodes of a called circuit replace the call, its sinks replace the
    components.

    Delays keep counting the time of the circuit around the call. A call in a body is kept where the called circuit
    has constants, which are not allowed in bodies.
    """
    return _Inlining(circuit.depth, circuit).result if ops.Call in circuit.kinds else circuit


class _Inlining:
    def __init__(self, depth: int, circuit: Circuit) -> None:
        self._builder = CircuitBuilder(depth)
        self._cycles = {op.name for op in circuit.operators if isinstance(op, ops.BackEdge)}
        self._add_all(circuit.nodes, None, {})
        self.result = self._builder.build()

    def _add_all(
        self, nodes: Sequence[Node], sources: Mapping[str, int] | None, names: Mapping[str, str]
    ) -> dict[str, int]:
        """Add nodes; `sources` replaces the sources of a called circuit.

        It is None outside of a call. `names` renames the back-edges.
        """
        places: list[Numbers] = []
        sinks: dict[str, int] = {}
        for node in nodes:
            inputs = [places[i] for i in node.inputs]
            if sources is not None and isinstance(node.operator, ops.Sink) and isinstance(inputs[0], int):
                sinks[node.operator.name] = inputs[0]
                places.append(inputs[0])
            elif sources and isinstance(node.operator, ops.Source):
                places.append(sources[node.operator.name])
            else:
                places.append(self._add(node.operator, inputs, names))
        return sinks

    def _add(self, operator: ops.Operator, inputs: list[Numbers], names: Mapping[str, str]) -> Numbers:
        if isinstance(operator, ops.BundleRelation) and isinstance(inputs[0], dict):
            return inputs[0][operator.name]
        numbers = [place for place in inputs if isinstance(place, int)]
        if isinstance(operator, ops.Call) and not (self._builder.depth and _has_constants(operator.circuit)):
            own = {op.name: self._fresh(op.name) for op in operator.circuit.operators if isinstance(op, ops.BackEdge)}
            return self._add_all(operator.circuit.nodes, operator.named(numbers), own)
        if isinstance(operator, ops.BackEdge | ops.Close):
            operator = replace(operator, name=names.get(operator.name, operator.name))
        return self._builder.add(_at(operator, self._builder.depth), *numbers)

    def _fresh(self, name: str) -> str:
        """Return an unused name for a back-edge."""
        new = next(n for n in (f"{name}_{i}" for i in count(1)) if n not in self._cycles)
        self._cycles.add(new)
        return new


def _has_constants(circuit: Circuit) -> bool:
    calls = [op.circuit for op in circuit.operators if isinstance(op, ops.Call)]
    return any(isinstance(op, ops.Constant) for op in circuit.operators) or any(map(_has_constants, calls))


def _at(operator: ops.Operator, depth: int) -> ops.Operator:
    """Return the operator for a circuit of that depth, with its nested circuits inlined and one level deeper."""
    if isinstance(operator, ops.Import):
        outer = deeper(operator.type, depth - 1)
        assert isinstance(outer, ZSetType)
        return replace(operator, type=outer)
    bodies: dict[str, Any] = {
        label: _Inlining(depth + 1, body).result for label, body in operator.bodies() if label != "circuit"
    }
    return replace(operator, **bodies) if bodies else operator
