"""Nested fixpoints as circuits of their own: functions of their inputs at one iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.values.types import Schema


def alone(fixpoint: ops.Fixpoint, schemas: Sequence[Schema]) -> Circuit:
    """Return the circuit of a fixpoint alone: its inputs are sources named by their numbers, its relations are
    views.
    """
    builder = CircuitBuilder()
    sets = {op.index for op in fixpoint.body.operators if isinstance(op, ops.Import) and op.type.is_set}
    sources = [builder.add(ops.Source(str(i), schema, i in sets)) for i, schema in enumerate(schemas)]
    bundle = builder.add(replace(fixpoint, body=at_depth(fixpoint.body, 1)), *sources)
    for name in sorted(fixpoint.body.sinks):
        builder.add(ops.Sink(name), builder.add(ops.BundleRelation(name), bundle))
    return builder.build()


def at_depth(body: Circuit, depth: int) -> Circuit:
    """Rebuild a fixpoint's body at another depth."""

    def deeper(_: int, operator: ops.Operator) -> ops.Operator:
        if isinstance(operator, ops.Import):
            return replace(operator, type=replace(operator.type, depth=depth - 1))
        if isinstance(operator, ops.Fixpoint):
            return replace(operator, body=at_depth(operator.body, depth + 1))
        return operator

    return body.with_operators(deeper, depth)
