"""Operators on streams of changes, and the change of a set.

z⁻¹ of a change becomes a relation that applies each change one epoch later. I applied to changes as values becomes a
relation whose change in each epoch is all rows of another. D of a constant is its change: a relation whose rows are
all inserted in the first epoch. D of a change is that change less the previous one, and D of other values is a
fallback.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from deltic.calculus.derivatives import derivative_of
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import FixedRows, OfSource
from deltic.program.operators.custom import recomputed
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of, relation_of
from deltic.program.unsupported import in_recursion


@dataclass(frozen=True)
class Delayed(OfSource):
    """The contents of relation `source` one epoch ago."""

    remembers: ClassVar[bool] = True
    is_timed: ClassVar[bool] = True

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        yield f"the change of {self.source} in the epoch before; keeps one change"

    def __str__(self) -> str:
        return f"delayed {self.source}"


@bodies_of(ops.Delay)
def delay(scope: Scope, op: ops.Delay, node: Node) -> list[Body]:
    """The change of the previous epoch."""
    return [before(scope, node)]


def before(scope: Scope, node: Node) -> Body:
    """The change of the node's input in the previous epoch, as a relation of its own."""
    (number,) = node.inputs
    if scope.component is not None:
        raise in_recursion(scope.circuit.nodes.index(node), node.operator)
    if number not in scope.delayed:
        scope.delayed[number] = scope.defined("", number, Delayed(scope.passed("rows", number)))
    return scope.atom(scope.delayed[number], number)


@relation_of(ops.Differentiate)
def difference(scope: Scope, op: ops.Differentiate, node: Node, number: int, wanted: str) -> str:
    """The relation of a constant or of an operator without derivative; of anything else the sum of changes."""
    below = scope.circuit.nodes[node.inputs[0]].operator
    if isinstance(below, ops.Constant):
        return scope.defined(wanted, number, FixedRows(below.rows))
    if derivative_of(type(below)).is_fallback:
        return recomputed(scope, node, number, wanted)
    return scope.derived(number, wanted, distinct=False)


@bodies_of(ops.Differentiate)
def differentiate(scope: Scope, op: ops.Differentiate, node: Node) -> list[Body]:
    """The change of a value; for a change, that change less the previous one."""
    (number,) = node.inputs
    below = scope.circuit.nodes[number].operator
    if isinstance(below, ops.Constant) or derivative_of(type(below)).is_fallback:
        own = scope.circuit.nodes.index(node)
        return [scope.atom(scope.relation(own), own)]
    past = before(scope, node)
    return [*scope.bodies(number), replace(past, sign=-past.sign)]


@dataclass(frozen=True)
class Summed(OfSource):
    """The sum, over all epochs so far, of the contents of relation `source`.

    Its change in an epoch is all of its rows.
    """

    is_timed: ClassVar[bool] = True

    @property
    def contents(self) -> tuple[str, ...]:
        return self.sources

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        yield f"all rows of {self.source} once more in each epoch, at the cost of as many"

    def __str__(self) -> str:
        return f"summed {self.source}"


@relation_of(ops.Integrate)
def integrate(scope: Scope, op: ops.Integrate, node: Node, number: int, wanted: str) -> str:
    """The sum of values: its change is the value itself."""
    if scope.component is not None:
        raise in_recursion(number, op)
    return scope.defined(wanted, number, Summed(scope.relation(*node.inputs)))


@relation_of(ops.DistinctDelta)
def distinct_delta(scope: Scope, op: ops.DistinctDelta, node: Node, number: int, wanted: str) -> str:
    """The set relation over the change in the second input."""
    return scope.derived(node.inputs[1], wanted, distinct=True)
