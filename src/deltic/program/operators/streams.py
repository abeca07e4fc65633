"""Operators on streams of changes, windows, and the change of a set.

z⁻¹ of a change becomes a relation that applies each change one epoch later. I applied to changes as values becomes a
relation whose change in each epoch is all rows of another. D of a constant is its change: a relation whose rows are
all inserted in the first epoch. D of a change is that change less the previous one, and D of other values is a
fallback. A window becomes a relation; changed rows and the clock's changes are passed to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from deltic.calculus.derivatives import derivative_of
from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import Definition, FixedRows, OfSource
from deltic.program.operators.custom import recomputed
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of, relation_of
from deltic.program.unsupported import in_recursion


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
    """Return the change of the node's input in the previous epoch, as a relation of its own."""
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


class Windowed(Definition):
    """The rows of relation `rows` whose value in `column` is at least the greatest of `clock` so far less `length`."""

    reads: ClassVar[tuple[str, ...]] = ("rows", "clock")
    remembers: ClassVar[bool] = True
    rows: str
    clock: str
    column: int
    length: int

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        return ((i, self.rows, i) for i in range(columns))

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        column = names[self.column] if names else f"column {self.column}"
        yield (
            f"the rows of {self.rows} with {column} at least {self.clock} {'−' if self.length >= 0 else '+'} "
            f"{abs(self.length)}; "
            "keeps the window alone; looks at changed rows and those that leave it"
        )

    def __str__(self) -> str:
        return f"window [{self.column}, {self.length}] of {self.rows} by {self.clock}"


@relation_of(ops.WindowDelta)
def window_delta(scope: Scope, op: ops.WindowDelta, node: Node, number: int, wanted: str) -> str:
    """The relation of the rows in the window."""
    rows, clock = node.inputs
    column = scope.circuit.type_of(rows).schema.index(op.window.column)
    definition = Windowed(scope.passed("rows", rows), scope.passed("clock", clock), column, op.window.length)
    return scope.defined(wanted, number, definition)
