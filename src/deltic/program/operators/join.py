"""A join becomes the conjunctions of its inputs: sums distribute over it, as long as that gives few conjunctions."""

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
    """The conjunctions of one conjunction of each input; the rules' delta queries are the terms of the change."""
    return _product(_few(scope, node.inputs[1::2]))


@bodies_of(ops.Join)
def stream_join(scope: Scope, op: ops.Join, node: Node) -> list[Body]:
    """A change joined with the present state of relations, whose own changes derive nothing [DBSP §8.2]."""
    states = [number for number in node.inputs if isinstance(scope.circuit.nodes[number].operator, ops.Integrate)]
    number = scope.circuit.nodes.index(node)
    if len(states) != len(node.inputs) - 1:
        raise refusal(number, op)
    if scope.component is not None:
        raise in_recursion(number, op)
    return _product([_state(scope, i) if i in states else scope.bodies(i) for i in node.inputs])


def _state(scope: Scope, number: int) -> list[Body]:
    """The relation of the changes that node `number` integrates, in its new state."""
    (change,) = scope.circuit.nodes[number].inputs
    body = scope.atom(scope.relation(change), number)
    return [replace(body, atoms=tuple(replace(atom, when=When.NEW) for atom in body.atoms))]


def _few(scope: Scope, numbers: Sequence[int]) -> list[list[Body]]:
    """The conjunctions of each input; where all together are too many, some inputs become relations.

    A product of n sums of two gives 2ⁿ rules. The smallest sums become relations first: they are the optional parts.
    n joins, each of the previous one with itself, give a rule of 2ⁿ atoms; the longest inputs become relations first.
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
    """The joins of one conjunction of each input, in all combinations."""
    joined, *others = inputs
    for right in others:
        joined = [both for a, b in itertools.product(joined, right) for both in conjoin(a, b)]
    return joined
