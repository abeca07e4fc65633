"""What a change visits: views over tables of 10³ to 10⁶ rows and changes of 1 and 100 rows, side by side.

`python benchmarks/work.py` deletes rows that are there and puts them back. The rows visited must follow the change and
what it matches, and stay as they are while the tables grow by a factor of a thousand.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from harness import report

from deltic.circuit import Circuit, CircuitBuilder, Schema, Type
from deltic.circuit import operators as ops
from deltic.datalog import check, lower, parse
from deltic.engine.local.engine import LocalEngine
from deltic.engine.local.refresh import Policy, Refresh
from deltic.engine.protocol import WEIGHT

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CHANGES = (1, 100)
REPEATS = 15
CHAIN = 10

NOTES = """\
Each table has n rows; a change deletes c random rows of a or puts them back.
changed: rows of the view that enter or leave it; visited: rows and index entries that the engine looked at.
join: a(x, y), b(y, z); distinct: the y of a; antijoin: rows of a whose x no row of b has; aggregation: number, sum
and least of the x of each y in a; recursion: reachability in chains of ten edges, each on 22 paths on average."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """A view v of the tables a and b; `rows` makes tables of so many rows, each of which matches a fixed number."""

    name: str
    circuit: Circuit
    rows: Callable[[int], tuple[Rows, Rows]]


def datalog(rules: str) -> Circuit:
    """The circuit of rules for v(x, y) over a and b."""
    tables = ".decl a(x: number, y: number)\n.decl b(x: number, y: number)\n.decl v(x: number, y: number)\n"
    return lower(check([parse(tables + ".input a, b\n.output v\n" + rules)]))


def aggregation() -> Circuit:
    """The number, the sum and the least of the x of each y in a."""
    builder = CircuitBuilder()
    a = builder.add(ops.Source("a", Schema.of(x=Type.INT64, y=Type.INT64)))
    builder.add(ops.Source("b", Schema.of(x=Type.INT64, y=Type.INT64)))
    calls = (
        ops.AggregateCall("count", "", "n"),
        ops.AggregateCall("sum", "x", "s"),
        ops.AggregateCall("min", "x", "m"),
    )
    builder.add(ops.Sink("v"), builder.add(ops.Aggregate(("y",), calls), a))
    return builder.build()


def keyed(count: int) -> tuple[Rows, Rows]:
    """Rows (i, k) and (k, 2 i), one or two for every key k; half of the i are among the k of the second table."""
    numbers = np.arange(count)
    keys = numbers * 2 // 3
    return np.stack([numbers, keys], 1), np.stack([keys, 2 * numbers], 1)


def chains(count: int) -> tuple[Rows, Rows]:
    """Edges that are chains of ten, and no second table."""
    numbers = np.arange(count)
    starts = numbers + numbers // CHAIN
    return np.stack([starts, starts + 1], 1), np.empty((0, 2), np.int64)


VIEWS = (
    View("join", datalog("v(x, z) :- a(x, y), b(y, z)."), keyed),
    View("distinct", datalog("v(y, y) :- a(_, y)."), keyed),
    View("antijoin", datalog("v(x, y) :- a(x, y), !b(_, x)."), keyed),
    View("aggregation", aggregation(), keyed),
    View("recursion", datalog("v(x, y) :- a(x, y).\nv(x, z) :- v(x, y), a(y, z)."), chains),
)


def main() -> None:
    """Measure and report."""
    for view in VIEWS:
        measure(view, 200)  # load the compiled kernels, so that no measurement pays for it
    rows = [row for view in VIEWS for count in SIZES for row in measure(view, count)]
    header = ["view", "rows n", "change c", "changed", "visited", "visited / c", "ms", "loading visited", "loading s"]
    notes = f"{NOTES}\nMedians of {2 * REPEATS} epochs; recursions are always updated, never computed anew."
    report("work", "Rows visited by a change", header, rows, notes)


def batch(rows: Rows, weight: int) -> pa.Table:
    """Changes of these rows by that weight."""
    return pa.table({"x": rows[:, 0], "y": rows[:, 1], WEIGHT: np.full(len(rows), weight)})


def measure(view: View, count: int) -> list[list[object]]:
    """The rows of the report for one view and size."""
    engine = LocalEngine(view.circuit, refresh=Refresh(Policy.INCREMENTAL))
    a, b = view.rows(count)
    started = time.perf_counter()
    loaded = engine.apply({"a": batch(a, 1), "b": batch(b, 1)}).rows_visited
    seconds = time.perf_counter() - started
    found = []
    for size in CHANGES:
        changed, visited, taken = update(engine, a, size)
        cells = [f"{changed:,.0f}", f"{visited:,.0f}", f"{visited / size:.1f}", f"{1000 * taken:.2f}"]
        found.append([view.name, f"{count:,}", size, *cells, f"{loaded:,}", f"{seconds:.2f}"])
    return found


def update(engine: LocalEngine, a: Rows, size: int) -> tuple[float, float, float]:
    """Medians over epochs that delete `size` rows of a or insert them again: rows changed, rows visited, seconds."""
    random = np.random.default_rng(size)
    changed, visited, seconds = [], [], []
    for _ in range(REPEATS):
        rows = a[random.choice(len(a), size, replace=False)]
        for weight in (-1, 1):
            change = batch(rows, weight)
            started = time.perf_counter()
            result = engine.apply({"a": change})
            seconds.append(time.perf_counter() - started)
            changed.append(result.changes["v"].num_rows if "v" in result.changes else 0)
            visited.append(result.rows_visited)
    return statistics.median(changed), statistics.median(visited), statistics.median(seconds)


if __name__ == "__main__":
    main()
