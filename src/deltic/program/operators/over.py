"""Window functions, and a top-k, become a relation; the input rows are passed to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deltic.circuit import operators as ops
from deltic.circuit.graph import Node
from deltic.circuit.operators.order import Top, TopDelta
from deltic.program.definitions import OfSource
from deltic.program.scope import Scope, relation_of


class Windows(OfSource):
    """The rows of relation `source`, whose columns are `names`, with the values of the operator's calls."""

    operator: ops.Over
    names: tuple[str, ...]

    def shared(self, columns: int) -> Iterator[tuple[int, str, int]]:
        yield from super().shared(len(self.names))
        for index, call in enumerate(self.operator.calls, len(self.names)):
            if call.picks:
                yield from ((index, self.source, self.names.index(name)) for name in call.columns)

    def describe(self, names: Sequence[str]) -> Iterator[str]:
        key = ", ".join(self.operator.keys) or "nothing"
        yield f"window functions of {self.source}, partitioned by {key}: keeps its rows in order"
        for call in self.operator.calls:
            yield f"{call}: {_reads(call)}"

    def __str__(self) -> str:
        return f"{self.operator.label} of {self.source}"


def _reads(call: ops.WindowCall) -> str:
    """Return which rows a call reads when some change, and why, as text for users."""
    if call.gap is not None:
        return "reads the sessions around a changed row, and the row before and after them"
    if call.reach is None:
        return f"reads the whole partition of a changed row, for {call.why_unbounded}"
    back, ahead = call.reach
    return f"reads {back + ahead} rows before and after a changed one, of which {ahead} and {back} can see it"


@relation_of(ops.OverDelta)
def over_delta(scope: Scope, op: ops.OverDelta, node: Node, number: int, wanted: str) -> str:
    """The relation of the rows with the values of the window functions."""
    (_, change) = node.inputs
    names = scope.circuit.type_of(change).schema.names
    computed = ops.Over(op.keys, op.order, op.calls)
    return scope.defined(wanted, number, Windows(scope.passed("rows", change), computed, names))


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
