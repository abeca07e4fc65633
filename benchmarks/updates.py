"""What one changed row costs: reachability in a sparse random graph, kept fresh and recomputed, side by side.

`python benchmarks/updates.py` grows the graph from 10³ to 10⁵ edges. Each update deletes one edge or puts it back;
the cost must follow the change of the view, not the size of the graph.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import pyarrow as pa
from harness import report

import deltic

PROGRAM = """
.decl edge(x: number, y: number)
.decl reaches(x: number, y: number)
reaches(x, y) :- edge(x, y).
reaches(x, z) :- reaches(x, y), edge(y, z).
"""
UPDATES = 100


def main() -> None:
    """Measure and report."""
    warm_up()
    rows = [measure(edges) for edges in (1_000, 10_000, 100_000)]
    header = ["edges", "reaches", "bootstrap s", "visited", "update ms", "p99 ms", "changed", "visited ", "ratio"]
    notes = (
        "update, p99, changed and the second visited: median (99th percentile) over single-edge epochs.\n"
        "ratio: the bootstrap's time over the median update's, in one run."
    )
    report("updates", "Single-edge updates of reachability", header, rows, notes)


def warm_up() -> None:
    """Load the compiled kernels, so that no measurement pays for it."""
    pipeline = fresh(graph(200))
    with pipeline.transaction() as change:
        change.delete("edge", pipeline["edge"].to_arrow().slice(0, 1))


def graph(edges: int) -> pa.Table:
    """A sparse random graph: 0.9 edges for each node, so that reachability stays local."""
    nodes = edges * 10 // 9
    pairs = np.unique(np.random.default_rng(edges).integers(0, nodes, (edges, 2)), axis=0)
    return pa.table({"x": pairs[:, 0], "y": pairs[:, 1]})


def fresh(edges: pa.Table) -> deltic.Pipeline:
    """A pipeline bootstrapped on the graph."""
    pipeline = deltic.Pipeline()
    pipeline.datalog(PROGRAM)
    with pipeline.transaction() as change:
        change.insert("edge", edges)
    return pipeline


def measure(count: int) -> list[object]:
    """One row of the table."""
    edges = graph(count)
    pipeline = deltic.Pipeline()
    pipeline.datalog(PROGRAM)
    started = time.perf_counter()
    with pipeline.transaction() as bootstrap:
        bootstrap.insert("edge", edges)
    whole = time.perf_counter() - started
    chosen = np.random.default_rng(1).integers(0, len(edges), UPDATES)
    seconds, changed, visited = [], [], []
    for row in chosen.tolist():
        for action in ("delete", "insert"):
            started = time.perf_counter()
            with pipeline.transaction() as change:
                getattr(change, action)("edge", edges.slice(row, 1))
            seconds.append(time.perf_counter() - started)
            changed.append(len(change.of("reaches")))
            visited.append(change.report.rows_visited)
    update = statistics.median(seconds)
    return [
        f"{len(edges):,}",
        f"{len(pipeline['reaches']):,}",
        f"{whole:.2f}",
        f"{bootstrap.report.rows_visited:,}",
        f"{1000 * update:.2f}",
        f"{1000 * float(np.percentile(seconds, 99)):.1f}",
        f"{statistics.median(changed):.0f} ({np.percentile(changed, 99):.0f})",
        f"{statistics.median(visited):.0f} ({np.percentile(visited, 99):.0f})",
        f"{whole / update:.0f}",
    ]


if __name__ == "__main__":
    main()
