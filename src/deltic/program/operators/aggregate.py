"""An aggregate is a relation of its own; the rows that it groups are passed on to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.graph import Node
from deltic.program.definitions import Definition
from deltic.program.scope import Scope, relation_of


@dataclass(frozen=True)
class Grouped(Definition):
    """The groups of relation `source`, whose first `keys` columns are the groups' keys, with their aggregates.

    `calls` are functions, each with the column of the source that it reads, -1 for none.
    """

    reads: ClassVar[tuple[str, ...]] = ("source",)
    source: str
    keys: int
    calls: tuple[tuple[str, int], ...]

    @property
    def is_set(self) -> bool:
        return True

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        shared = [*range(self.keys), *(c if ACCUMULATORS[f].picks else -1 for f, c in self.calls)]
        return ((index, self.source, column) for index, column in enumerate(shared) if column >= 0)

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        key = ", ".join(names[: self.keys]) or "nothing"
        for name, (function, _) in zip(names[self.keys :], self.calls, strict=False):
            kept = ACCUMULATORS[function].keeps
            yield f"{name} = {function} of {self.source} by {key}: keeps {kept}; looks at changed groups alone"

    def __str__(self) -> str:
        calls = ", ".join(f"{f}({column if column >= 0 else '*'})" for f, column in self.calls)
        return f"aggregate [{self.keys} keys, {calls}] of {self.source}"


@relation_of(ops.AggregateDelta)
def aggregate_delta(scope: Scope, op: ops.AggregateDelta, node: Node, number: int, wanted: str) -> str:
    """The aggregates of what the second input changes, of which only the columns that they read are passed on."""
    (_, change) = node.inputs
    columns = tuple(dict.fromkeys((*op.keys, *(c.column for c in op.calls if c.column))))
    calls = tuple((c.function, columns.index(c.column) if c.column else -1) for c in op.calls)
    rows = scope.passed("rows", change, columns)
    return scope.defined(wanted, number, Grouped(rows, len(op.keys), calls))
