"""A flatmap becomes a relation; the rows that it expands are passed to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import OfSource
from deltic.program.scope import Scope, relation_of
from deltic.program.unsupported import in_recursion


@dataclass(frozen=True)
class Expanded(OfSource):
    """The rows of relation `source`, each once for every value that the flatmap yields for it."""

    operator: ops.FlatMap

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        return super().shared(columns - 1)

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        yield f"{self.operator.arguments()} of each row of {self.source}; looks at changed rows alone"

    def __str__(self) -> str:
        return f"{self.operator.label} of {self.source}"


@relation_of(ops.FlatMap)
def flat_map(scope: Scope, op: ops.FlatMap, node: Node, number: int, wanted: str) -> str:
    """The relation of the rows that the flatmap makes of the change."""
    if scope.component is not None and scope.is_recursive(number):
        raise in_recursion(number, op)
    (change,) = node.inputs
    return scope.defined(wanted, number, Expanded(scope.passed("rows", change), op))
