"""z⁻¹ of a change becomes a relation that applies each change one epoch later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import Definition
from deltic.program.queries import Body
from deltic.program.scope import Scope, bodies_of
from deltic.program.unsupported import in_recursion


@dataclass(frozen=True)
class Delayed(Definition):
    """The contents of relation `source` one epoch ago."""

    reads: ClassVar[tuple[str, ...]] = ("source",)
    remembers: ClassVar[bool] = True
    is_timed: ClassVar[bool] = True
    source: str

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        return ((i, self.source, i) for i in range(columns))

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
