"""I applied to changes as values: the change in each epoch is all rows of a relation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import Definition
from deltic.program.scope import Scope, relation_of
from deltic.program.unsupported import in_recursion


@dataclass(frozen=True)
class Summed(Definition):
    """The sum, over all epochs so far, of the contents of relation `source`.

    Its change in an epoch is all of its rows.
    """

    reads: ClassVar[tuple[str, ...]] = ("source",)
    is_timed: ClassVar[bool] = True
    source: str

    @property
    def contents(self) -> tuple[str, ...]:
        return self.sources

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        return ((i, self.source, i) for i in range(columns))

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
