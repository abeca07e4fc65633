"""What an explanation costs: rows of a transitive closure of 10⁶ rows, by a chain and by a random graph, and of Galen.

`python benchmarks/why.py` prints for each the steps of the explanations, the rows that look-ups return, and the
milliseconds of processor time of one, in the median, for all but one in twenty, and at most. `--galen 1` adds Galen's
24 million rows, which take 1.2 GiB, and a lesser number that part of the rows of its table p; it needs
../shared/data/galen.zip.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from galen import PROGRAM, TABLES, prepare
from harness import report

import deltic
from deltic.engine.state_version import StateVersion

CLOSURE = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
"""
ROWS = 200
"""Rows of each view, chosen at random."""


def closure(edges: Sequence[tuple[int, int]]) -> deltic.Pipeline:
    """The closure of a graph."""
    pipeline = deltic.Pipeline()
    pipeline.datalog(CLOSURE)
    with pipeline.transaction() as change:
        change.insert("e", edges)
    return pipeline


def galen(part: float) -> deltic.Pipeline:
    """Galen's ontology, with part of the rows of p."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        pipeline = deltic.Pipeline()
        pipeline.datalog(PROGRAM)
        with pipeline.transaction() as change:
            for table in TABLES:
                lines = (Path(folder) / "facts" / f"{table}.txt").read_text().splitlines()
                if table == "p":
                    lines = random.Random(1).sample(lines, round(len(lines) * part))
                change.insert(table, [tuple(map(int, line.split(","))) for line in lines])
    return pipeline


def visited(read: Callable[..., Any], rows: list[int]) -> Callable[..., Any]:
    """The look-up, which adds to `rows` how many rows it returns."""

    def counting(*args: Any, **options: Any) -> Any:
        result = read(*args, **options)
        rows.append(0 if result is None else len(result))
        return result

    return counting


def duration(pipeline: deltic.Pipeline, view: str, row: tuple[int, ...]) -> float:
    """The milliseconds of processor time that explaining a row takes."""
    begun = time.process_time()
    pipeline.why(view, row)
    return (time.process_time() - begun) * 1000


def measured(name: str, pipeline: deltic.Pipeline, view: str, rows: Sequence[tuple[int, ...]]) -> list[str]:
    """A line of the table: what explaining each of the rows takes, the least of three times."""
    taken, steps, heights, read = [], [], [], []
    for row in rows:
        explanation = pipeline.why(view, row)
        taken.append(min(duration(pipeline, view, row) for _ in range(3)))
        steps.append(len(explanation.steps()))
        heights.append(explanation.height)
    originals = {name: getattr(StateVersion, name) for name in ("history", "find")}
    for row in rows:
        counts: list[int] = []
        for method, original in originals.items():
            setattr(StateVersion, method, visited(original, counts))
        pipeline.why(view, row)
        read.append(sum(counts))
    for method, original in originals.items():
        setattr(StateVersion, method, original)
    count = len(pipeline[view])
    cells = [f"{count:,}", f"{statistics.median(heights):,.0f}", f"{statistics.median(steps):,.0f}"]
    cells += [f"{statistics.median(read):,.0f}", f"{max(read):,}"]
    slow = sorted(taken)[math.ceil(0.95 * len(taken)) - 1]
    return [name, *cells, f"{statistics.median(taken):,.1f}", f"{slow:,.1f}", f"{max(taken):,.1f}"]


def sampled(pipeline: deltic.Pipeline, view: str) -> list[tuple[int, ...]]:
    """Some rows of a view."""
    rows = pipeline[view].to_arrow()
    chosen = random.Random(1).sample(range(len(rows)), ROWS)
    return [tuple(rows.take([i]).to_pylist()[0].values()) for i in chosen]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--galen", type=float, default=0, metavar="PART")
    chosen = parser.parse_args()
    chain = closure([(i, i + 1) for i in range(1414)])
    rng = random.Random(1)
    graph = closure(list({(rng.randrange(1000), rng.randrange(1000)) for _ in range(4000)}))
    lines = [
        measured("chain, its longest row", chain, "p", [(0, 1414)]),
        measured("chain, rows of height 10", chain, "p", [(i * 7, i * 7 + 10) for i in range(ROWS)]),
        measured("random graph", graph, "p", sampled(graph, "p")),
    ]
    if chosen.galen:
        del chain, graph
        ontology = galen(chosen.galen)
        lines += [measured(f"Galen, {view}", ontology, view, sampled(ontology, view)) for view in "pq"]
    header = ["rows", "of the view", "height", "steps", "rows read", "at most", "ms, median", "ms, p95", "ms, at most"]
    report("why", "Explanations of rows", header, lines)


if __name__ == "__main__":
    main()
