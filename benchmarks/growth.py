"""How time and memory grow with a graph: reachability in sparse graphs of 10⁴ to 10⁷ edges.

`python benchmarks/growth.py` bootstraps each in a fresh process, then deletes single edges and puts them back.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from graphs import REACHABILITY, sparse
from harness import report
from isolated import GIB, isolated
from problems import new_engine, signed

PER_NODE = 0.5
UPDATES = 25
HEADER = [
    "edges",
    "reaches",
    "bootstrap s",
    "µs per edge",
    "peak GiB",
    "state GiB",
    "update ms",
    "slowest ms",
    "visited",
]
NOTES = f"""\
Graphs of {PER_NODE} edges to a node, so that a node reaches as many others whatever the size. update: median of
{2 * UPDATES} epochs that delete one edge or put it back; visited: rows, in the median. peak: of a fresh process, the
graph included; state: all runs of the engine. slope: of the logarithm over that of the edges, by least squares; 1 is
linear, 0 constant."""


def measure(edges: int) -> Iterator[dict[str, Any]]:
    """The bootstrap and the updates of one graph."""
    graph = sparse(edges, PER_NODE)
    engine = new_engine(REACHABILITY, policy="incremental")
    warm_up()
    changes = signed({"edge": graph}, 1)
    started = time.perf_counter()
    engine.apply(changes)
    yield {"bootstrap": time.perf_counter() - started, "state": engine.nbytes, "reaches": engine.count("reaches")}
    for row in np.random.default_rng(1).integers(0, len(graph), UPDATES).tolist():
        for weight in (-1, 1):
            changes = signed({"edge": graph.slice(row, 1)}, weight)
            started = time.perf_counter()
            visited = engine.apply(changes).rows_visited
            yield {"update": time.perf_counter() - started, "visited": visited}


def warm_up() -> None:
    """Load the compiled kernels, so that no measurement pays for it."""
    engine = new_engine(REACHABILITY, policy="incremental")
    graph: pa.Table = sparse(1_000, PER_NODE)
    engine.apply(signed({"edge": graph}, 1))
    engine.apply(signed({"edge": graph.slice(0, 1)}, -1))


def slope(edges: list[int], values: list[float]) -> str:
    """The exponent of the growth."""
    return f"{np.polyfit(np.log(edges), np.log(values), 1)[0]:.2f}" if len(edges) > 1 else "-"


def main(powers: range) -> None:
    """Measure and report."""
    rows: list[list[object]] = []
    edges, measured = [], []
    for power in powers:
        run = isolated(measure, 10**power)
        first, updates = (run.values[0], run.values[1:]) if run.values else ({}, [])
        if not updates:
            rows.append([f"{10**power:,}", run.failure, *[""] * 7])
            continue
        seconds = [u["update"] for u in updates]
        edges.append(10**power)
        measured.append((first["bootstrap"], run.peak, first["state"], statistics.median(seconds)))
        bootstrap, peak, state, update = measured[-1]
        cells = [f"{10**power:,}", f"{first['reaches']:,}", f"{bootstrap:.3f}", f"{bootstrap / 10**power * 1e6:.2f}"]
        cells += [f"{peak / GIB:.2f}", f"{state / GIB:.3f}", f"{1000 * update:.2f}", f"{1000 * max(seconds):.1f}"]
        rows.append([*cells, f"{statistics.median(u['visited'] for u in updates):.0f}"])
    bootstraps, peaks, states, medians = (slope(edges, list(column)) for column in zip(*measured, strict=True))
    rows.append(["slope", "", bootstraps, "", peaks, states, medians, "", ""])
    report("growth", "Growth of reachability with the graph", HEADER, rows, NOTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=7, help="the greatest power of ten")
    options = parser.parse_args()
    main(range(4, options.most + 1))
