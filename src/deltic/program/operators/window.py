"""A window becomes a relation; changed rows and the clock's changes are passed to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.program.definitions import Definition
from deltic.program.scope import Scope, relation_of


@dataclass(frozen=True)
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
