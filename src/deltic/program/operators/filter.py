"""A filter adds conditions to each conjunction."""

from __future__ import annotations

from dataclasses import replace

from deltic.circuit import operators as ops
from deltic.circuit.expressions import conjuncts
from deltic.circuit.graph import Node
from deltic.program.conjunctions import restrict
from deltic.program.queries import Body, replace_columns
from deltic.program.scope import Scope, bodies_of


@bodies_of(ops.Filter)
def filter_(scope: Scope, op: ops.Filter, node: Node) -> list[Body]:
    """The conjunctions of the input, restricted by each conjunct of the predicate."""
    bodies = scope.below(*node.inputs)
    for part in conjuncts(op.predicate):
        bodies = [restricted for body in bodies for restricted in restrict(body, replace_columns(part, body.out))]
    return [replace(body, conditions=tuple(dict.fromkeys(body.conditions))) for body in bodies]
