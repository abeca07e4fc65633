"""How what a body makes of its recursive relations turns when they grow [FIX §1, footnote 4]."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import TypeVar

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit, Node
from deltic.circuit.operators.keep import Keep
from deltic.circuit.operators.semijoin import Semijoin

Name = TypeVar("Name", bound=Hashable)
Signs = Mapping[Name, frozenset[int]]
"""What a node depends on, each with the ways in which: 1 where it grows with it, -1 where it shrinks, 0 if unknown."""

_RISING = (ops.Map, ops.Filter, ops.Join, Semijoin, ops.Plus, ops.Distinct, ops.FlatMap, ops.BundleRelation, Keep)


def polarities(body: Circuit) -> dict[str, Signs[str]]:
    """For each relation of a fixpoint's body the recursive relations that an iteration of it depends on, and how."""
    starts = {n: {op.name: 1} for n, op in enumerate(body.operators) if isinstance(op, ops.Feedback)}
    result = _signs(body, starts)
    return {name: result[number] for name, number in body.sinks.items()}


def grows_with(body: Circuit, *numbers: int) -> bool:
    """Whether all relations of a fixpoint's body grow with its recursive relations, and with these nodes."""
    starts = {n: {"": 1} for n, op in enumerate(body.operators) if isinstance(op, ops.Feedback) or n in numbers}
    result = _signs(body, starts)
    return all(result[number].get("", {1}) <= {1} for number in body.sinks.values())


def _signs(circuit: Circuit, starts: Mapping[int, Mapping[Name, int]]) -> list[Signs[Name]]:
    """What each node depends on, of the names for which the nodes `starts` stand."""
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
    """How a node's value turns when each of its inputs grows."""
    operator = node.operator
    if isinstance(operator, ops.Antijoin):
        return [1, -1]
    if isinstance(operator, ops.Negate):
        return [-1]
    if isinstance(operator, ops.Fixpoint):
        return [int(grows_with(operator.body, *_imports(operator.body, index))) for index in range(len(node.inputs))]
    return [int(isinstance(operator, (*_RISING, ops.Sink)))] * len(node.inputs)


def _imports(body: Circuit, index: int) -> list[int]:
    """The nodes of a body that import what stands around it by that number."""
    return [n for n, op in enumerate(body.operators) if isinstance(op, ops.Import) and op.index == index]
