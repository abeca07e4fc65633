"""Which recursions only grow from iteration to iteration."""

from __future__ import annotations

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node


def is_monotone(body: Circuit) -> bool:
    """Whether a derived row can never retract another row of the recursion, so that each iteration is final.

    In a recursion of bags a row counts once for each derivation, so no set may stand in between; a recursion of sets
    imports no bags.
    """
    are_sets = {body.type_of(number).is_set for number in body.sinks.values()}
    recursive: set[int] = set()
    for number, node in enumerate(body.nodes):
        if isinstance(node.operator, ops.Feedback) or recursive.intersection(node.inputs):
            recursive.add(number)
        if not _is_monotone(node, number in recursive, recursive.issuperset(node.inputs[1:]), are_sets):
            return False
    return len(are_sets) <= 1


def _is_monotone(node: Node, recursive: bool, negates: bool, are_sets: set[bool]) -> bool:
    operator = node.operator
    if isinstance(operator, ops.Negate | ops.Fixpoint):
        return False
    if isinstance(operator, ops.Antijoin):
        return not negates
    if isinstance(operator, ops.Aggregate | ops.Top | ops.Over | ops.FlatMap | ops.Apply):
        return not recursive
    if isinstance(operator, ops.Distinct):
        return not recursive or are_sets == {True}
    return not isinstance(operator, ops.Import) or operator.type.is_set or are_sets != {True}
