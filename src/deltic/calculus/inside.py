"""The circuits inside a circuit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder


def inside(circuit: Circuit, rewrite: Callable[[ops.Fixpoint | ops.Bracket], ops.Operator]) -> Circuit:
    """The circuit with every operator rewritten that has a circuit inside it, the innermost first."""
    builder = CircuitBuilder(circuit.depth)
    numbers: list[int] = []
    for node in circuit.nodes:
        operator = node.operator
        if isinstance(operator, ops.Fixpoint | ops.Bracket):
            operator = rewrite(replace(operator, body=inside(operator.body, rewrite)))
        numbers.append(builder.add(operator, *(numbers[i] for i in node.inputs)))
    return builder.build()


def operators_inside(circuit: Circuit) -> Iterator[ops.Operator]:
    """The operators of a circuit and of all circuits inside it."""
    for operator in circuit.operators:
        yield operator
        for _, body in operator.bodies():
            yield from operators_inside(body)
