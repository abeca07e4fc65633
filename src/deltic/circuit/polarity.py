"""Whether the relations of a body grow or shrink when its recursive relations grow [FIX §1, footnote 4].

And which recursions only grow from iteration to iteration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import TypeVar

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node

Name = TypeVar("Name", bound=Hashable)
Signs = Mapping[Name, frozenset[int]]
"""The names that a node depends on, each with its signs: 1 where the node grows with it, -1 where it shrinks, else
0."""

_LINEAR = (ops.Map, ops.FlatMap, ops.Filter, ops.Plus, ops.BundleRelation, ops.Keep, ops.Sink)
_RISING = (*_LINEAR, ops.Join, ops.Semijoin, ops.Distinct)


def polarities(body: Circuit) -> dict[str, Signs[str]]:
    """For each relation of a fixpoint's body the recursive relations that it reads in an iteration, with signs."""
    starts = {n: {op.name: 1} for n, op in enumerate(body.operators) if isinstance(op, ops.Feedback)}
    result = _signs(body, starts)
    return {name: result[number] for name, number in body.sinks.items()}


def grows_with(body: Circuit, *numbers: int) -> bool:
    """Return whether all relations of a fixpoint's body grow with its recursive relations, and with these nodes."""
    starts = {n: {"": 1} for n, op in enumerate(body.operators) if isinstance(op, ops.Feedback) or n in numbers}
    result = _signs(body, starts)
    return all(result[number].get("", {1}) <= {1} for number in body.sinks.values())


def _signs(circuit: Circuit, starts: Mapping[int, Mapping[Name, int]]) -> list[Signs[Name]]:
    """Return the signs of each node in the names that the nodes `starts` stand for."""
    result: list[Signs[Name]] = []
    for number, node in enumerate(circuit.nodes):
        ways: dict[Name, set[int]] = defaultdict(set)
        for name, sign in starts.get(number, {}).items():
            ways[name].add(sign)
        for source, turn in zip(node.inputs, _turns(node), strict=True):
            for name, signs in result[source].items():
                ways[name].update(turn * sign for sign in signs)
        result.append({name: frozenset(signs) for name, signs in ways.items()})
    return result


def _turns(node: Node) -> list[int]:
    """For each input the sign of the change of a node's value when that input grows."""
    operator = node.operator
    if isinstance(operator, ops.Antijoin):
        return [1, -1]
    if isinstance(operator, ops.Negate):
        return [-1]
    if isinstance(operator, ops.Fixpoint):
        return [int(grows_with(operator.body, *_imports(operator.body, index))) for index in range(len(node.inputs))]
    return [int(isinstance(operator, _RISING))] * len(node.inputs)


def _imports(body: Circuit, index: int) -> list[int]:
    """Return the nodes of a body that import input number `index`."""
    return [n for n, op in enumerate(body.operators) if isinstance(op, ops.Import) and op.index == index]


def is_monotone(body: Circuit) -> bool:
    """Return whether a derived row can never retract another row of the recursion, so that each iteration is final.

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
