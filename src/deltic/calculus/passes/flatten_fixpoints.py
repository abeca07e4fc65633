"""lfp X. T(X, lfp Y. G(X, Y)) is the X of lfp (X, Y). (T(X, G(X, Y)), G(X, Y)), for monotone T and G.

This is Bekić's lemma, or [FIX Prop. 37] where only G reads both. A nested fixpoint is examined again at each
iteration of the outer one; as relations of one recursion its rows are derived once. It is flattened where all
relations of both are sets and all of them grow with all relations that they read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, CircuitBuilder
from deltic.circuit.polarity import grows_with


def flatten_fixpoints(circuit: Circuit) -> Circuit:
    """Return the circuit with nested fixpoints merged into the fixpoints around them where possible."""
    changed = {
        number: replace(operator, body=body)
        for number, operator in enumerate(circuit.operators)
        if isinstance(operator, ops.Fixpoint) and (body := _flat(operator.body)) is not operator.body
    }
    return circuit.with_operators(changed.get) if changed else circuit


def _flat(body: Circuit) -> Circuit:
    """Return a body with nested fixpoints merged into it where possible, the innermost first."""
    body = flatten_fixpoints(body)
    while (number := next(_parts(body), None)) is not None:
        body = _merged(body, number)
    return body


def _parts(body: Circuit) -> Iterator[int]:
    """Yield the fixpoints in a body that can be merged into it."""
    for number, operator in enumerate(body.operators):
        if isinstance(operator, ops.Fixpoint) and body.are_sets and operator.body.are_sets:
            inside = any(isinstance(inner, ops.Fixpoint) for inner in operator.body.operators)
            if not inside and grows_with(operator.body) and grows_with(body, number):
                yield number


def _merged(body: Circuit, number: int) -> Circuit:
    """Return a body with a nested fixpoint replaced by its nodes."""
    builder, places = CircuitBuilder(body.depth), list[int]()
    sinks, names = dict[str, int](), dict[str, str]()
    for at, node in enumerate(body.nodes):
        operator, inputs = node.operator, [places[i] for i in node.inputs]
        if at == number:
            assert isinstance(operator, ops.Fixpoint)
            names = {name: _fresh(name, body) for name in operator.body.sinks}
            sinks = _add(builder, operator.body, inputs, names)
            places.append(at)  # which components alone read
        elif isinstance(operator, ops.BundleRelation) and node.inputs == (number,):
            places.append(sinks[operator.name])
        else:
            places.append(builder.add(operator, *inputs))
    for name, place in sinks.items():
        builder.add(ops.Sink(names[name]), place)
    return builder.build()


def _add(builder: CircuitBuilder, body: Circuit, given: list[int], names: dict[str, str]) -> dict[str, int]:
    """Add the nodes of a body over the nodes `given` that it imports; returns the nodes of its relations."""
    places: list[int] = []
    for node in body.nodes:
        operator, inputs = node.operator, [places[i] for i in node.inputs]
        if isinstance(operator, ops.Import):
            places.append(given[operator.index])
        elif isinstance(operator, ops.Sink):
            places.append(*inputs)
        elif isinstance(operator, ops.Feedback):
            places.append(builder.add(replace(operator, name=names[operator.name])))
        else:
            places.append(builder.add(operator, *inputs))
    return {name: places[number] for name, number in body.sinks.items()}


def _fresh(name: str, body: Circuit) -> str:
    """Return a name for a relation of a nested fixpoint that no relation around it and no view has."""
    result = f"{name} in {min(body.sinks)}"
    while result in body.sinks:
        result += "'"
    return result
