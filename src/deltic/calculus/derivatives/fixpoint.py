"""Nested circuits: recursion, brackets and calls."""

from __future__ import annotations

from deltic.calculus.derivatives.table import Cost, NodeViews, derivative
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.errors import UnsupportedError


@derivative(
    ops.Fixpoint,
    "fix(body)^Δ, over Z-sets of (row, iteration)",
    "DBSP §7.2",
    "lifting a cycle is lifting its parts, and the change of a fixpoint is a fixpoint of changes",
    "each row's derivations by iteration",
    Cost.MATCHES,
)
def fixpoint_delta(op: ops.Fixpoint, node: Node, views: NodeViews) -> int:
    """The body's derivative at each iteration: lifting a cycle lifts its parts [DBSP Prop. 5.7]."""
    changed = ops.FixpointDelta(op.body, views.body(op.body, 0), op.refresh)
    return views.builder.add(changed, *map(views.delta, node.inputs))


@derivative(
    ops.Bracket,
    "∫ ∘ (↑body)^Δ ∘ δ₀",
    "DBSP §7.2, Prop. 5.4",
    "δ₀ and ∫ are linear",
    "what its body keeps, at each iteration",
    Cost.MATCHES,
)
def bracket_delta(op: ops.Bracket, node: Node, views: NodeViews) -> int:
    """δ₀ and ∫ are linear; the body is lifted, and its changes are in the time of the circuit around it."""
    changed = ops.Bracket(views.body(op.body, views.outer + 1))
    return views.builder.add(changed, *map(views.delta, node.inputs))


@derivative(
    ops.Call,
    "(↑C)^Δ",
    "DBSP Prop. 4.2 chain",
    "the change of a composition is the composition of the changes",
    "what its circuit keeps",
    Cost.MATCHES,
)
def call_delta(op: ops.Call, node: Node, views: NodeViews) -> int:
    """The change of the called circuit; most calls are inlined before."""
    if views.outer:
        raise UnsupportedError("call: a circuit with constants in it cannot be called in the body of a bracket")
    return views.builder.add(ops.Call(views.body(op.circuit, 0)), *map(views.delta, node.inputs))
