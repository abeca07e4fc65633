"""Recursions in which rows come and go: single changes against computation from nothing, by size.

`python -m benchmarks.signed` prints for each program and size the seconds and the rows visited of a load, and of single
rows that are deleted and inserted again: the median and the greatest; and the entries that are kept. Each program runs
once before, on its first table and on changes of all kinds, so that compilation is not measured.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.engine.signed_bodies import control, even, labels, materials, shortest, tree

from deltic.algebra.zset import ZSet
from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.tables import to_arrow
from deltic.engine.engine import IncrementalEngine
from deltic.engine.refresh import Policy, Refresh

Row = tuple[Any, ...]
Tables = dict[str, list[Row]]
# A circuit, its tables, and the rows of one of them that are deleted and inserted again.
Case = tuple[Circuit, Tables, str, list[Row]]


def nodes(count: int) -> list[Row]:
    return [(x,) for x in range(count)]


def chain(count: int) -> Case:
    """treeP on a chain: cut near its end, in its middle, near its leaf."""
    child: list[Row] = [(x, x + 1) for x in range(count - 1)]
    cuts = [child[3], child[count // 2], child[count - 10]]
    return tree(), {"node": nodes(count), "child": child}, "child", cuts


def forest(count: int) -> Case:
    """treeP on a random tree."""
    rng = random.Random(1)
    child: list[Row] = [(rng.randrange(x), x) for x in range(1, count)]
    return tree(), {"node": nodes(count), "child": child}, "child", rng.sample(child, 20)


def grid(count: int) -> Case:
    """Shortest paths from a corner of a grid with lengths in both directions, which is full of circles."""
    rng, side = random.Random(2), round(count**0.5)
    steps = [
        (i * side + j, (i + a) * side + j + b)
        for i in range(side)
        for j in range(side)
        for a, b in ((0, 1), (1, 0))
        if i + a < side and j + b < side
    ]
    streets: list[Row] = [(x, y, rng.randint(1, 9)) for a, b in steps for x, y in ((a, b), (b, a))]
    return shortest(), {"source": [(0,)], "edge": streets}, "edge", rng.sample(streets, 20)


def graph(count: int) -> Case:
    """Least labels of a random graph with one and a half edges a node."""
    rng = random.Random(3)
    edges: list[Row] = sorted({tuple(sorted(rng.sample(range(count), 2))) for _ in range(3 * count // 2)})
    return labels(), {"node": nodes(count), "edge": edges}, "edge", rng.sample(edges, 20)


def holdings(count: int) -> Case:
    """Company control, three owners a company, of whom each has 20 to 60 of a hundred."""
    rng = random.Random(4)
    owns: list[Row] = [(rng.randrange(y), y, rng.choice((20, 30, 40, 60))) for y in range(1, count) for _ in range(3)]
    owns = sorted({(x, y): s for x, y, s in owns}.items())
    rows = [(x, y, s) for (x, y), s in owns]
    return control(), {"owns": rows}, "owns", rng.sample(rows, 20)


def path(count: int) -> Case:
    """Least labels of a chain: a label moves one node at an iteration, and nearly every node at nearly every one."""
    edges: list[Row] = [(x, x + 1) for x in range(count - 1)]
    return labels(), {"node": nodes(count), "edge": edges}, "edge", [edges[count - 10], edges[count // 2]]


def assembly(count: int) -> Case:
    """The cost of a bill of materials in a chain: cut near its end, in its middle, near its last part."""
    part: list[Row] = [(x, 1 + x % 9) for x in range(count)]
    needs: list[Row] = [(x, x + 1, 1) for x in range(count - 1)]
    cuts = [needs[3], needs[count // 2], needs[count - 10]]
    return materials(), {"part": part, "needs": needs}, "needs", cuts


def positions(count: int) -> Case:
    """Positions of a game without circles, two moves each, that are lost whatever one plays."""
    rng = random.Random(5)
    moves: list[Row] = sorted(
        {(x, rng.randrange(x + 1, min(count, x + 50))) for x in range(count - 1) for _ in range(2)}
    )
    return even(), {"node": nodes(count), "child": moves}, "child", rng.sample(moves, 20)


CASES: dict[str, tuple[Callable[[int], Case], Sequence[int]]] = {
    "treeP, a chain": (chain, (200, 2_000)),
    "treeP, a tree": (forest, (2_000, 20_000)),
    "shortest paths, a grid": (grid, (400, 2_500)),
    "least labels": (graph, (1_000, 5_000)),
    "least labels, a chain": (path, (200, 1_000)),
    "bill of materials": (assembly, (200, 2_000)),
    "company control": (holdings, (300, 1_000)),
    "lost positions": (positions, (2_000, 20_000)),
}


def measured(case: Case) -> Iterator[str]:
    """The cells of a line."""
    circuit, tables, changed, rows = case
    schemas = {op.name: op.schema for op in circuit.operators if isinstance(op, ops.Source)}
    engine = IncrementalEngine(circuit, refresh=Refresh(Policy.INCREMENTAL))
    started = time.perf_counter()
    load = engine.apply({name: to_arrow(ZSet.of(found), schemas[name]) for name, found in tables.items()})
    yield f"{time.perf_counter() - started:9.3f} {load.rows_visited:11,}"
    seconds, visited = [], []
    for row in rows:
        for weight in (-1, 1):
            batch = {changed: to_arrow(ZSet({row: weight}), schemas[changed])}
            started = time.perf_counter()
            visited.append(engine.apply(batch).rows_visited)
            seconds.append(time.perf_counter() - started)
    yield f"{statistics.median(seconds):9.4f} {round(statistics.median(visited)):9,}"
    yield f"{max(seconds):9.4f} {max(visited):9,}"
    (store,) = engine.executor.stores
    yield f"{sum(len(store.states[name].contents) for name in engine.program.recursive):9,}"


def main(wanted: Sequence[str]) -> None:
    print(f"{'':24} {'size':>7}  {'load: seconds, rows':>21}  {'change: median':>19}  {'greatest':>19}  {'entries':>9}")
    for name, (make, sizes) in CASES.items():
        if wanted and name not in wanted:
            continue
        list(measured(make(sizes[0])))
        for size in sizes:
            print(f"{name:24} {size:7,}  {'  '.join(measured(make(size)))}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
