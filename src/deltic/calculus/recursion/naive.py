"""A recursive query as the circuit of naive evaluation [DBSP §7.1]."""

from __future__ import annotations

from deltic.calculus.inside import inside
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node


def naive(circuit: Circuit) -> Circuit:
    """The circuit with ∫ ∘ D ∘ (fix α. T(·, z⁻¹(α))) ∘ I ∘ δ₀ written out for each fixpoint of a body T.

    Every iteration computes all rows from all rows of the one before; the last is the value [DBSP Thm 7.1, 7.2].
    """
    return inside(circuit, _bracket)


def _bracket(operator: ops.Fixpoint | ops.Bracket) -> ops.Operator:
    return ops.Bracket(_loop(operator.body)) if isinstance(operator, ops.Fixpoint) else operator


def _loop(body: Circuit) -> Circuit:
    builder = CircuitBuilder(body.depth)
    cycles = {operator.name for operator in body.operators if isinstance(operator, ops.Feedback)}
    numbers: list[int] = []
    for node in body.nodes:
        numbers.append(_looped(builder, node, [numbers[i] for i in node.inputs], cycles))
    return builder.build()


def _looped(builder: CircuitBuilder, node: Node, inputs: list[int], cycles: set[str]) -> int:
    operator = node.operator
    if isinstance(operator, ops.Import):
        return builder.add(ops.Integrate(operator.type.is_set), builder.add(operator))
    if isinstance(operator, ops.Feedback):
        return builder.add(ops.BackEdge(operator.name, operator.schema, is_set=True))
    if isinstance(operator, ops.Sink):
        if operator.name in cycles:
            builder.add(ops.Close(operator.name), *inputs)
        return builder.add(operator, builder.add(ops.Differentiate(), *inputs))
    return builder.add(operator, *inputs)
