"""What a change visits: views over tables of 10³ to 10⁶ rows and changes of 1 and 100 rows, side by side.

`python benchmarks/work.py` deletes rows that are there and puts them back, or moves a window on. The rows visited must
follow the change and what it matches, and stay as they are while the tables grow by a factor of a thousand.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from harness import report

from deltic.circuit import Circuit, CircuitBuilder, Schema, Type
from deltic.circuit import operators as ops
from deltic.circuit.expressions import column
from deltic.circuit.tables import WEIGHT
from deltic.datalog import check, lower, parse
from deltic.engine.engine import IncrementalEngine
from deltic.engine.refresh import Policy, Refresh

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CHANGES = (1, 100)
REPEATS = 15
CHAIN = 10

NOTES = """\
Each table has n rows; a change deletes c random rows of a or puts them back; of a window it inserts c later ones.
changed: rows of the view that enter or leave it; visited: rows and index entries that the engine looked at.
join: a(x, y), b(y, z); distinct: the y of a; antijoin: rows of a whose x no row of b has; aggregation: number, sum
and least of the x of each y in a; recursion: reachability in chains of ten edges, each on 22 paths on average;
window: the last n rows of a by time."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """A view v of the tables a and b of n rows: its circuit, the tables, and what is done to c rows of a."""

    name: str
    circuit: Callable[[int], Circuit]
    rows: Callable[[int], tuple[Rows, Rows]]
    edit: Callable[[Rows, int, int], Iterator[pa.Table]]


def datalog(rules: str) -> Callable[[int], Circuit]:
    """The circuit of rules for v(x, y) over a and b, whatever their size."""
    declarations = ".decl a(x: number, y: number)\n.decl b(x: number, y: number)\n.decl v(x: number, y: number)\n"
    circuit = lower(check([parse(declarations + ".input a, b\n.output v\n" + rules)]))
    return lambda count: circuit


def tables() -> tuple[CircuitBuilder, int]:
    """A builder with the tables, and the node of a."""
    builder, schema = CircuitBuilder(), Schema.of(x=Type.INT64, y=Type.INT64)
    builder.add(ops.Source("b", schema))
    return builder, builder.add(ops.Source("a", schema))


def aggregation(count: int) -> Circuit:
    """The number, the sum and the least of the x of each y in a."""
    builder, a = tables()
    calls = (
        ops.AggregateCall("count", "", "n"),
        ops.AggregateCall("sum", "x", "s"),
        ops.AggregateCall("min", "x", "m"),
    )
    builder.add(ops.Sink("v"), builder.add(ops.Aggregate(("y",), calls), a))
    return builder.build()


def window(count: int) -> Circuit:
    """The rows of a whose x, a time, is among the last `count`; the latest of them is now."""
    builder, a = tables()
    now = builder.add(ops.Map(Schema.of(now=Type.INT64).columns, (column("x"),)), a)
    builder.add(ops.Sink("v"), builder.add(ops.Window("x", count - 1), a, now))
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


def remove_and_restore(a: Rows, size: int, epoch: int) -> Iterator[pa.Table]:
    """Delete some random rows, then insert them again."""
    rows = a[np.random.default_rng((size, epoch)).choice(len(a), size, replace=False)]
    yield batch(rows, -1)
    yield batch(rows, 1)


def move_on(a: Rows, size: int, epoch: int) -> Iterator[pa.Table]:
    """Insert rows that are later than all others, of a size once in all epochs of it."""
    start = len(a) + sum(REPEATS * other for other in CHANGES if other < size) + epoch * size
    yield batch(np.stack([np.arange(start, start + size)] * 2, 1), 1)


VIEWS = (
    View("join", datalog("v(x, z) :- a(x, y), b(y, z)."), keyed, remove_and_restore),
    View("distinct", datalog("v(y, y) :- a(_, y)."), keyed, remove_and_restore),
    View("antijoin", datalog("v(x, y) :- a(x, y), !b(_, x)."), keyed, remove_and_restore),
    View("aggregation", aggregation, keyed, remove_and_restore),
    View("recursion", datalog("v(x, y) :- a(x, y).\nv(x, z) :- v(x, y), a(y, z)."), chains, remove_and_restore),
    View("window", window, keyed, move_on),
)


def main() -> None:
    """Measure and report."""
    for view in VIEWS:
        measure(view, 200)  # load the compiled kernels, so that no measurement pays for it
    rows = [row for view in VIEWS for count in SIZES for row in measure(view, count)]
    header = ["view", "rows n", "change c", "changed", "visited", "visited / c", "ms", "loading visited", "loading s"]
    notes = (
        f"{NOTES}\nMedians over {REPEATS} changes, and as many that take them back. Recursions are never computed anew."
    )
    report("work", "Rows visited by a change", header, rows, notes)


def batch(rows: Rows, weight: int) -> pa.Table:
    """Changes of these rows by that weight."""
    return pa.table({"x": rows[:, 0], "y": rows[:, 1], WEIGHT: np.full(len(rows), weight)})


def measure(view: View, count: int) -> list[list[object]]:
    """The rows of the report for one view and size."""
    engine = IncrementalEngine(view.circuit(count), refresh=Refresh(Policy.INCREMENTAL))
    a, b = view.rows(count)
    started = time.perf_counter()
    loaded = engine.apply({"a": batch(a, 1), "b": batch(b, 1)}).rows_visited
    seconds = time.perf_counter() - started
    found = []
    for size in CHANGES:
        changed, visited, taken = update(engine, view, a, size)
        cells = [f"{changed:,.0f}", f"{visited:,.0f}", f"{visited / size:.1f}", f"{1000 * taken:.2f}"]
        found.append([view.name, f"{count:,}", size, *cells, f"{loaded:,}", f"{seconds:.2f}"])
    return found


def update(engine: IncrementalEngine, view: View, a: Rows, size: int) -> tuple[float, float, float]:
    """Medians over epochs that change `size` rows of a: rows changed, rows visited, seconds."""
    changed, visited, seconds = [], [], []
    for change in (change for epoch in range(REPEATS) for change in view.edit(a, size, epoch)):
        started = time.perf_counter()
        result = engine.apply({"a": change})
        seconds.append(time.perf_counter() - started)
        changed.append(result.changes["v"].num_rows if "v" in result.changes else 0)
        visited.append(result.rows_visited)
    return statistics.median(changed), statistics.median(visited), statistics.median(seconds)


if __name__ == "__main__":
    main()
