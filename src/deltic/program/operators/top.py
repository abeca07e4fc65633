"""A top-k becomes a relation; the input rows are passed to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deltic.circuit.graph import Node
from deltic.circuit.operators.top import Top, TopDelta
from deltic.program.definitions import OfSource
from deltic.program.scope import Scope, relation_of


@dataclass(frozen=True)
class TopRows(OfSource):
    """The first rows of each partition of relation `source`, as the operator selects them."""

    operator: Top

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        yield (
            f"top {self.operator.arguments()} of {self.source}: keeps its rows in order, and the row at each border; "
            "looks at changed rows, and at those by which a border moves"
        )

    def __str__(self) -> str:
        return f"{self.operator.label} of {self.source}"


@relation_of(TopDelta)
def top_delta(scope: Scope, op: TopDelta, node: Node, number: int, wanted: str) -> str:
    """The relation of the first rows of each partition."""
    (_, change) = node.inputs
    taken = Top(op.keys, op.order, op.limit, op.offset)
    return scope.defined(wanted, number, TopRows(scope.passed("rows", change), taken))
