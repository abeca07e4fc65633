"""Step 4 of [DBSP Alg. 6.13]: D ∘ Q ∘ I, the definition of Q^Δ [DBSP Def. 4.1] as a circuit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node


def surround(circuit: Circuit, outer: int = 0) -> Circuit:
    """Return the circuit with an I after each of its inputs and a D before each of its sinks, in the time `outer`.

    Its sources carry changes of their tables; in a body so do the imports and the feedbacks. It still computes on
    the whole tables.
    """
    return circuit.rebuilt(partial(surrounded, outer=outer))


def surrounded(builder: CircuitBuilder, node: Node, inputs: list[int], outer: int = 0) -> int:
    """Add a node over the replacements of its inputs, and return its replacement."""
    operator = node.operator
    if isinstance(operator, ops.Source | ops.Feedback):
        return builder.add(ops.Integrate(operator.is_set, outer=outer), builder.add(replace(operator, is_set=False)))
    if isinstance(operator, ops.Import):
        changes = builder.add(replace(operator, type=replace(operator.type, is_set=False)))
        return builder.add(ops.Integrate(operator.type.is_set, outer=outer), changes)
    if isinstance(operator, ops.Sink):
        return builder.add(operator, builder.add(ops.Differentiate(outer=outer), *inputs))
    return builder.add(operator, *inputs)
