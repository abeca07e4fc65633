"""What a single changed row costs: reachability, a points-to analysis, a bill of materials.

`python benchmarks/latency.py` deletes one random row of one table and puts it back, `--rows` times for each program.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from epochs import Epoch, epoch
from graphs import REACHABILITY, sparse
from harness import report
from isolated import isolated

import deltic

# Andersen's analysis, sensitive to fields: what each variable, and each field of each object, may point to.
POINTS_TO = """
.decl new(v: number, o: number)
.decl assign(v: number, w: number)
.decl load(v: number, p: number, f: number)
.decl store(p: number, f: number, w: number)
.decl points(v: number, o: number)
.decl heap(o: number, f: number, h: number)
.output points, heap
points(v, o) :- new(v, o).
points(v, o) :- assign(v, w), points(w, o).
points(v, h) :- load(v, p, f), points(p, o), heap(o, f, h).
heap(o, f, h) :- store(p, f, w), points(p, o), points(w, h).
"""

# How many of each part a product needs at each place, and what it all costs. A line is one place in one assembly.
MATERIALS = """
.decl line(parent: number, child: number, quantity: number)
.decl price(part: number, cents: number)
.decl assembly(part: number)
.decl needs(part: number, below: number, quantity: number)
.decl cost(part: number, cents: number)
.output cost, needs
assembly(p) :- line(p, _, _).
needs(p, c, n) :- line(p, c, n).
needs(p, d, n * m) :- needs(p, c, n), line(c, d, m).
cost(p, s) :- assembly(p), s = sum n * c : { needs(p, d, n), price(d, c) }.
"""


@dataclass(frozen=True)
class Case:
    """A program and its tables; `size` counts rows of a table."""

    name: str
    program: str
    tables: Callable[[int], dict[str, pa.Table]]


def points_to(size: int) -> dict[str, pa.Table]:
    """Statements of functions with ten variables each; one operand in fifty is from another function."""
    random = np.random.default_rng(size)
    variables = size // 3

    def pairs(count: int) -> tuple[Any, Any]:
        left = random.integers(0, variables, count)
        near = left // 10 * 10 + random.integers(0, 10, count)
        return left, np.where(random.random(count) < 0.02, random.integers(0, variables, count), near)

    fields = random.integers(0, 5, size)
    v, w = pairs(size // 4)
    loaded, loads = pairs(size // 8)
    stored, stores = pairs(size // 8)
    created = random.integers(0, variables, size // 4)
    return {
        "new": table(v=created, o=np.arange(len(created))),
        "assign": table(v=v, w=w),
        "load": table(v=loaded, p=loads, f=fields[: len(loads)]),
        "store": table(p=stored, f=fields[: len(stored)], w=stores),
    }


def materials(size: int) -> dict[str, pa.Table]:
    """A tree of lines, ten to an assembly, with a price for each leaf."""
    random = np.random.default_rng(size)
    children = np.arange(1, size + 1)
    parents = (children - 1) // 10
    leaves = np.setdiff1d(children, parents)
    return {
        "line": table(parent=parents, child=children, quantity=random.integers(1, 5, size)),
        "price": table(part=leaves, cents=random.integers(1, 1000, len(leaves))),
    }


def table(**columns: Any) -> pa.Table:
    """A table of distinct rows."""
    rows = np.unique(np.stack(list(columns.values()), 1), axis=0)
    return pa.table(dict(zip(columns, rows.T.copy(), strict=True)))


CASES = (
    Case("reachability", REACHABILITY, lambda size: {"edge": sparse(size)}),
    Case("points-to", POINTS_TO, points_to),
    Case("bill of materials", MATERIALS, materials),
)


def measure(index: int, size: int, count: int) -> Iterator[tuple[int, Epoch]]:
    """The bootstrap with the number of rows of all tables, then single-row epochs with 1."""
    case = CASES[index]
    run(case, 200, 10)  # load the compiled kernels, so that no measurement pays for it
    yield from run(case, size, count)


def run(case: Case, size: int, count: int) -> list[tuple[int, Epoch]]:
    """The epochs of a pipeline of its own."""
    tables = case.tables(size)
    pipeline = deltic.Pipeline()
    pipeline.datalog(case.program)
    total = sum(map(len, tables.values()))
    epochs = [(total, epoch(pipeline, "insert", tables))]
    random = np.random.default_rng(1)
    for name in random.choice(list(tables), count, p=[len(rows) / total for rows in tables.values()]).tolist():
        row = tables[name].slice(int(random.integers(len(tables[name]))), 1)
        epochs += [(1, epoch(pipeline, action, {name: row})) for action in ("delete", "insert")]
    return epochs


def line(index: int, size: int, count: int) -> list[object]:
    """One row of the report."""
    done = isolated(measure, index, size, count)
    if done.failure:
        return [CASES[index].name, done.failure, *[""] * 9]
    (total, first), epochs = done.values[0], [e for _, e in done.values[1:]]
    few = [e for e in epochs if e.changed < 100]
    return [
        CASES[index].name,
        f"{total:,}",
        f"{first.changed:,}",
        f"{first.seconds:.2f}",
        f"{statistics.median(milliseconds(epochs)):.2f}",
        f"{np.percentile(milliseconds(epochs), 99):.1f}",
        both([e.changed for e in epochs]),
        both([e.visited for e in epochs]),
        f"{len(few)} of {len(epochs)}",
        f"{statistics.median(milliseconds(few)):.2f}",
        f"{np.percentile(milliseconds(few), 99):.1f}",
    ]


def both(counts: list[int]) -> str:
    """Median and 99th percentile of counts."""
    return f"{statistics.median(counts):,.0f} ({np.percentile(counts, 99):,.0f})"


def milliseconds(epochs: list[Epoch]) -> list[float]:
    """The times of epochs."""
    return [1000 * e.seconds for e in epochs]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="edges, statements, lines")
    parser.add_argument("--rows", type=int, default=250)
    options = parser.parse_args()
    header = ["program", "rows", "views", "bootstrap s", "median ms", "p99 ms", "changed (p99)", "visited (p99)"]
    header += ["epochs < 100", "median ms ", "p99 ms "]
    notes = """\
A single row, chosen at random from all tables, is deleted, and put back in the next epoch. median, p99: over all of
these epochs. Last columns: over the epochs that change fewer than 100 rows of the views; target: a median of 5 ms.
reachability: a random graph of 0.9 edges to a node; points-to: a synthetic program; bill of materials: one product,
ten lines to an assembly."""
    rows = [line(index, options.size, options.rows) for index in range(len(CASES))]
    report("latency", "Epochs of a single row", header, rows, notes)
