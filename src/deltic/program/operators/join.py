"""A join is the conjunction of what it joins: sums distribute over it."""

from __future__ import annotations

import itertools
from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.conjunctions import conjoin
from deltic.program.queries import Body, When
from deltic.program.scope import Scope, bodies_of
from deltic.program.unsupported import in_recursion, refusal


@bodies_of(ops.JoinDelta)
def join_delta(scope: Scope, op: ops.JoinDelta, node: Node) -> list[Body]:
    """Each choice of a conjunction for each input, together; the rules' delta queries are the terms of the change."""
    return _product([scope.bodies(number) for number in node.inputs[1::2]])


@bodies_of(ops.Join)
def stream_join(scope: Scope, op: ops.Join, node: Node) -> list[Body]:
    """A change joined with relations as they are at the time, whose own changes match nothing [DBSP §8.2]."""
    states = [number for number in node.inputs if isinstance(scope.circuit.nodes[number].operator, ops.Integrate)]
    number = scope.circuit.nodes.index(node)
    if len(states) != len(node.inputs) - 1:
        raise refusal(number, op)
    if scope.component is not None:
        raise in_recursion(number, op)
    return _product([_state(scope, i) if i in states else scope.bodies(i) for i in node.inputs])


def _state(scope: Scope, number: int) -> list[Body]:
    """The relation whose changes node `number` sums up, as it is."""
    (change,) = scope.circuit.nodes[number].inputs
    body = scope.atom(scope.relation(change), number)
    return [replace(body, atoms=tuple(replace(atom, when=When.NEW) for atom in body.atoms))]


def _product(inputs: list[list[Body]]) -> list[Body]:
    """Each choice of a conjunction for each input, together."""
    joined, *others = inputs
    for right in others:
        joined = [both for a, b in itertools.product(joined, right) for both in conjoin(a, b)]
    return joined
