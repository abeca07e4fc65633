"""A join is the conjunction of what it joins: sums distribute over it."""

from __future__ import annotations

import itertools

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.conjunctions import conjoin
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of


@bodies_of(ops.JoinDelta)
def join_delta(scope: Scope, op: ops.JoinDelta, node: Node) -> list[Body]:
    """Each choice of a conjunction for each input, together; the rules' delta queries are the terms of the change."""
    first, *others = node.inputs[1::2]
    joined = scope.bodies(first)
    for number in others:
        right = scope.bodies(number)
        joined = [both for a, b in itertools.product(joined, right) for both in conjoin(a, b)]
    return joined
