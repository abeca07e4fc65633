"""An aggregate becomes a relation; the rows that it groups are passed to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deltic.circuit import operators as ops
from deltic.circuit.accumulators import ACCUMULATORS, Parameter
from deltic.circuit.accumulators.own import UserAggregate
from deltic.circuit.graph import Node
from deltic.program.definitions import OfSource
from deltic.program.scope import Scope, relation_of


@dataclass(frozen=True)
class GroupedAggregate:
    """One aggregate of `Grouped`: the function, the columns of the source that it reads, and its constants."""

    function: str
    columns: tuple[int, ...]
    parameters: tuple[Parameter, ...] = ()

    def __reduce__(self) -> Any:
        """Pickle a user's Python aggregate with its code, so that another process can run it."""
        own = ACCUMULATORS[self.function]
        code = own if isinstance(own, UserAggregate) else None
        return _received, (self.function, self.columns, self.parameters, code)

    def __str__(self) -> str:
        constants = "".join(f"; {constant!r}" for constant in self.parameters)
        return f"{self.function}({', '.join(map(str, self.columns)) or '*'}{constants})"


def _received(
    function: str, columns: tuple[int, ...], parameters: tuple[Parameter, ...], code: UserAggregate | None
) -> GroupedAggregate:
    if code is not None:
        ACCUMULATORS.setdefault(function, code)
    return GroupedAggregate(function, columns, parameters)


class Grouped(OfSource):
    """The groups of relation `source`, whose first `keys` columns are the keys, with their aggregates."""

    keys: int
    calls: tuple[GroupedAggregate, ...]

    @property
    def is_set(self) -> bool:
        return True

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        shared = [*range(self.keys), *(c.columns[0] if ACCUMULATORS[c.function].picks else -1 for c in self.calls)]
        return ((index, self.source, column) for index, column in enumerate(shared) if column >= 0)

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        key = ", ".join(names[: self.keys]) or "nothing"
        for name, call in zip(names[self.keys :], self.calls, strict=False):
            result = ACCUMULATORS[call.function]
            message = f"keeps {result.keeps}; looks at changed groups alone"
            yield f"{name} = {result.called} of {self.source} by {key}: {message}"

    def __str__(self) -> str:
        return f"aggregate [{self.keys} keys, {', '.join(map(str, self.calls))}] of {self.source}"


@relation_of(ops.AggregateDelta)
def aggregate_delta(scope: Scope, op: ops.AggregateDelta, node: Node, number: int, wanted: str) -> str:
    """The relation of the aggregates, over the columns of the second input that they read."""
    (_, change) = node.inputs
    columns = tuple(dict.fromkeys((*op.keys, *(name for call in op.calls for name in call.columns))))
    calls = tuple(GroupedAggregate(c.function, tuple(map(columns.index, c.columns)), c.parameters) for c in op.calls)
    rows = scope.passed("rows", change, columns)
    return scope.defined(wanted, number, Grouped(rows, len(op.keys), calls))
