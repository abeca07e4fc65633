"""Drops nodes that no sink depends on, and relations of a recursion that nothing reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from deltic.calculus.inside import inside
from deltic.calculus.passes.rewriting import remembered, remembering, without_unread
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder, Node


def drop_unread(circuit: Circuit) -> Circuit:
    """Return the circuit without the nodes, in bodies too, that no sink depends on; tables are kept."""
    return _read(inside(circuit, lambda operator: replace(operator, body=_read(operator.body))))


def _read(circuit: Circuit) -> Circuit:
    """Return the circuit reduced to the nodes that are read, and its fixpoints to the relations that are read."""
    before = None
    while before != circuit:
        before, circuit = circuit, without_unread(_trimmed(without_unread(circuit)))
    return circuit


def _trimmed(circuit: Circuit) -> Circuit:
    """Return the circuit with its fixpoints reduced to the relations that are read, and to the inputs that these need.

    A fixpoint is unchanged if a stateful operator depends on it, or if it would no longer read one: the state of past
    epochs must not depend on which relations are read today.
    """
    past, read = remembered(circuit), circuit.components_read
    trimmed: dict[int, Node] = {}
    for number, node in enumerate(circuit.nodes):
        if isinstance(operator := node.operator, ops.Fixpoint) and read[number] and number not in past:
            result = _over_used(node, operator, read[number])
            lost = circuit.ancestors([*{*node.inputs} - {*result.inputs}])
            trimmed[number] = node if remembering(circuit, lost) else result
    if all(node is circuit.nodes[number] for number, node in trimmed.items()):
        return circuit
    nodes = tuple(trimmed.get(number, node) for number, node in enumerate(circuit.nodes))
    return Circuit(nodes, circuit.depth).with_operators(lambda _, operator: operator)


def _over_used(node: Node, fixpoint: ops.Fixpoint, read: Collection[str]) -> Node:
    """Return the fixpoint reduced to the relations that are read; the same node if it needs all."""
    body = _members(fixpoint.body, read)
    # A bracket needs an input [DBSP §9.4.6]: what depends on none keeps its first.
    used = sorted({op.index for op in body.operators if isinstance(op, ops.Import)}) or [0][: len(node.inputs)]
    if body is fixpoint.body and len(used) == len(node.inputs):
        return node
    inputs = tuple(node.inputs[i] for i in used)
    return replace(node, operator=replace(fixpoint, body=_renumbered(body, used)), inputs=inputs)


def _members(body: Circuit, read: Collection[str]) -> Circuit:
    """Return the body reduced to the relations that are read, and those that they depend on."""
    needed, reached = set(read), set[int]()
    while True:
        reached = body.ancestors([body.sinks[name] for name in needed])
        feedbacks = (body.nodes[n].operator for n in reached)
        if (more := {op.name for op in feedbacks if isinstance(op, ops.Feedback)}) <= needed:
            break
        needed |= more
    if len(reached) + len(needed) == len(body.nodes):
        return body
    builder, numbers = CircuitBuilder(body.depth), dict[int, int]()
    for number, node in enumerate(body.nodes):
        if number in reached or (isinstance(node.operator, ops.Sink) and node.operator.name in needed):
            numbers[number] = builder.add(node.operator, *(numbers[i] for i in node.inputs))
    return builder.build()


def _renumbered(body: Circuit, used: list[int]) -> Circuit:
    """Return the body with its imports renumbered to the inputs `used`."""
    places = {index: place for place, index in enumerate(used)}
    return body.with_operators(lambda _, op: replace(op, index=places[op.index]) if isinstance(op, ops.Import) else op)
