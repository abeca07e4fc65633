"""A join is the conjunction of what it joins: sums distribute over it, as long as that makes few conjunctions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.conjunctions import conjoin
from deltic.program.queries import Body, When
from deltic.program.scope import LONGEST, MOST, Scope, bodies_of
from deltic.program.unsupported import in_recursion, refusal


@bodies_of(ops.JoinDelta)
def join_delta(scope: Scope, op: ops.JoinDelta, node: Node) -> list[Body]:
    """Each choice of a conjunction for each input, together; the rules' delta queries are the terms of the change."""
    return _product(_few(scope, node.inputs[1::2]))


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


def _few(scope: Scope, numbers: Sequence[int]) -> list[list[Body]]:
    """The conjunctions of each input; where there were too many together, some of the sums are relations.

    n sums of two make 2ⁿ rules. Sums of few conjunctions go first: what is optional or a default, not what it is for.
    n joins, each of the one before with itself, make a rule of 2ⁿ atoms; the longest are relations.
    """
    result = [scope.factors(number) for number in numbers]
    for place in sorted(range(len(result)), key=lambda i: -_atoms(result[i])):
        if sum(map(_atoms, result)) > LONGEST and _atoms(result[place]) > 1:
            result[place] = scope.joined(numbers[place]) or result[place]
    for place in sorted(range(len(result)), key=lambda i: len(result[i])):
        if math.prod(map(len, result)) > MOST and len(result[place]) > 1:
            result[place] = scope.kept(numbers[place]) or result[place]
    return result


def _atoms(bodies: Sequence[Body]) -> int:
    return max((len(body.atoms) for body in bodies), default=0)


def _product(inputs: list[list[Body]]) -> list[Body]:
    """Each choice of a conjunction for each input, together."""
    joined, *others = inputs
    for right in others:
        joined = [both for a, b in itertools.product(joined, right) for both in conjoin(a, b)]
    return joined
