"""Functions over the nested circuits of a circuit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit


def inside(circuit: Circuit, rewrite: Callable[[ops.Fixpoint | ops.Bracket], ops.Operator]) -> Circuit:
    """Return the circuit with every operator that contains a body rewritten, the innermost first."""
    rewritten = {
        number: rewrite(replace(operator, body=inside(operator.body, rewrite)))
        for number, operator in enumerate(circuit.operators)
        if isinstance(operator, ops.Fixpoint | ops.Bracket)
    }
    if all(operator == circuit.nodes[number].operator for number, operator in rewritten.items()):
        return circuit
    return circuit.with_operators(rewritten.get)


def operators_inside(circuit: Circuit) -> Iterator[ops.Operator]:
    """Yield the operators of a circuit and of all circuits nested in it."""
    for operator in circuit.operators:
        yield operator
        for _, body in operator.bodies():
            yield from operators_inside(body)
