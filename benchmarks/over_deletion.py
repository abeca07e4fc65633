"""Over-deletion and re-derivation [FIX Thm 43] beside the engine's counts by iteration: rows visited by deletions.

`python -m benchmarks.over_deletion` follows edges that go from a closure, one at a time. A prototype deletes all that
can be derived from the edge, then looks for what has another derivation left, until nothing more has; it counts each
index entry that it meets, as the engine's searches do. Its rows in the end are compared with those of a search.
"""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.tables import to_arrow
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.refresh import Policy, Refresh

Edge = tuple[int, int]
Edges = list[Edge]

CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


class OverDeletion:
    """path(x, z) ← edge(x, z) ∨ ∃y (path(x, y) ∧ edge(y, z)) under deletions; `visited` counts index entries."""

    def __init__(self, edges: Edges) -> None:
        self.ahead: dict[int, set[int]] = defaultdict(set)
        self.behind: dict[int, set[int]] = defaultdict(set)
        for x, y in edges:
            self.ahead[x].add(y)
            self.behind[y].add(x)
        self.ends: dict[int, set[int]] = {x: self.reached(x) for x in list(self.ahead)}
        self.starts: dict[int, set[int]] = defaultdict(set)
        for x, ends in self.ends.items():
            for y in ends:
                self.starts[y].add(x)
        self.visited = 0

    def reached(self, x: int) -> set[int]:
        """The nodes that the present edges lead to."""
        found, pending = set[int](), [x]
        while pending:
            for z in self.ahead.get(pending.pop(), ()):
                if z not in found:
                    found.add(z)
                    pending.append(z)
        return found

    def delete(self, edge: Edge) -> int:
        """Delete an edge; how many pairs go."""
        x, y = edge
        lost = {edge} | {(a, y) for a in self._met(self.starts[x])}
        pending = list(lost)
        while pending:
            a, b = pending.pop()
            for c in self._met(self.ahead[b]):
                if (a, c) not in lost:
                    lost.add((a, c))
                    pending.append((a, c))
        self.ahead[x].discard(y)
        self.behind[y].discard(x)
        for a, b in lost:
            self.ends[a].discard(b)
            self.starts[b].discard(a)
        found = [pair for pair in lost if self._has_another(pair)]
        back = set(found)
        while found:
            a, b = found.pop()
            self.ends[a].add(b)
            self.starts[b].add(a)
            for c in self._met(self.ahead[b]):
                if (a, c) in lost and (a, c) not in back:
                    back.add((a, c))
                    found.append((a, c))
        return len(lost) - len(back)

    def _has_another(self, pair: Edge) -> bool:
        """Whether a pair that was deleted has a derivation from what is left."""
        a, b = pair
        self.visited += 1
        return b in self.ahead[a] or any(c in self.ends[a] for c in self._met(self.behind[b]))

    def _met(self, rows: set[int]) -> Iterator[int]:
        for row in list(rows):
            self.visited += 1
            yield row


def tree(count: int, rng: random.Random) -> Edges:
    return [(rng.randrange(x), x) for x in range(1, count)]


def layers(count: int, rng: random.Random) -> Edges:
    """A graph without circles, three edges a node to the next 20."""
    return sorted({(x, rng.randrange(x + 1, min(count, x + 20))) for x in range(count - 1) for _ in range(3)})


def graph(count: int, rng: random.Random) -> Edges:
    """Two edges a node, most of which lie in one circle of circles."""
    return sorted({(rng.randrange(count), rng.randrange(count)) for _ in range(2 * count)})


CASES: dict[str, tuple[Callable[[int, random.Random], Edges], int]] = {
    "a tree": (tree, 2_000),
    "layers": (layers, 300),
    "circles": (graph, 300),
}


def counted(edges: Edges, gone: Edges, strategy: Strategy) -> list[int]:
    """The rows that the engine visits for each deletion."""
    circuit = lower(check([parse(CLOSURE)]))
    (schema,) = (op.schema for op in circuit.operators if isinstance(op, ops.Source))
    engine = IncrementalEngine(circuit, strategy, Refresh(Policy.INCREMENTAL))
    engine.apply({"edge": to_arrow(ZSet.of(edges), schema)})
    return [engine.apply({"edge": to_arrow(ZSet({row: -1}), schema)}).rows_visited for row in gone]


def main() -> None:
    print(
        f"{'rows visited, median and greatest':34} {'over-deletion':>20} {'nested':>20} {'elastic':>20}  pairs that go"
    )
    for name, (make, size) in CASES.items():
        rng = random.Random(1)
        edges = make(size, rng)
        gone = rng.sample(edges, 20)
        prototype, visited, pairs = OverDeletion(edges), list[int](), list[int]()
        for edge in gone:
            before = prototype.visited
            pairs.append(prototype.delete(edge))
            visited.append(prototype.visited - before)
        assert all(found == prototype.reached(x) for x, found in prototype.ends.items())
        found = [visited, *(counted(edges, gone, strategy) for strategy in (Strategy.NESTED, Strategy.ELASTIC))]
        cells = " ".join(f"{round(statistics.median(v)):9,} {max(v):10,}" for v in found)
        print(f"{f'{name}, {len(edges):,} edges':34} {cells}  {round(statistics.median(pairs)):,}", flush=True)


if __name__ == "__main__":
    main()
