"""CRDT, from files to its 104,653 results by a pipeline without Spark; random rows deleted and put back.

`python benchmarks/crdt.py` reads ../shared/data/crdt.zip. `--published` runs the rules as first published, whose
skipBlank has 151,669,663 rows, within `--memory` GiB and `--limit` seconds for each strategy. `--asked` runs them with
a skipBlank that nobody reads, beside the other rules: of it is derived what is asked for.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epochs import epoch
from harness import report
from isolated import GIB, Outcome, isolated
from problems import ASKED, CRDT, PUBLISHED, Problem, iterations, new_engine, sample, signed

import deltic
from deltic.pipeline.options import StrategyName

UPDATES = (10, 40, 70, 100)


def measure(problem: Problem, folder: Path, strategy: StrategyName, seeds: int) -> Iterator[dict[str, Any]]:
    """From files to results, then random updates; one dictionary for each epoch."""
    started, processor = time.perf_counter(), time.process_time()
    pipeline = deltic.Pipeline(recursion=deltic.Recursion(strategy=strategy))
    pipeline.datalog(problem.program)
    planned = time.perf_counter()
    tables = problem.read(folder)
    read = time.perf_counter() - planned
    yield {"bootstrap": epoch(pipeline, "insert", tables), "read": read, "planned": planned - started}
    results = len(pipeline["result"].to_arrow())
    processor = time.process_time() - processor
    yield {"total": time.perf_counter() - started, "processor": processor, "results": results}
    sizes = {name: len(pipeline[name]) for name in problem.expected}
    assert sizes == problem.expected, f"expected {problem.expected} rows, got {sizes}"
    for size in UPDATES:
        for seed in range(seeds):
            rows = sample(tables, size, seed)
            for action in ("delete", "insert"):
                yield {"epoch": epoch(pipeline, action, rows), "of": (size, action)}
    assert {name: len(pipeline[name]) for name in problem.expected} == sizes, "put back, but not the same"


def count_iterations(problem: Problem, folder: Path) -> Iterator[dict[str, int]]:
    """The iterations of each recursive relation."""
    engine = new_engine(problem.program)
    engine.apply(signed(problem.read(folder), 1))
    yield iterations(engine)


def show(folder: Path, seeds: int) -> None:
    """The form that data/README.md states."""
    watch = time.perf_counter()
    once = isolated(measure, CRDT, folder, "nested", 0)
    process = time.perf_counter() - watch
    run = isolated(measure, CRDT, folder, "nested", seeds)
    (counted,) = isolated(count_iterations, CRDT, folder).values
    first, total = run.values[:2]
    bootstrap = first["bootstrap"]
    rows: list[list[object]] = [
        ["whole process, start and imports included", f"{process:.2f} s", "", ""],
        [
            "files to results",
            f"{total['total']:.2f} s",
            f"processor {total['processor']:.2f} s",
            f"{total['results']:,} results",
        ],
        ["  of it compiling the rules", f"{first['planned']:.2f} s", "", ""],
        ["  of it reading", f"{first['read']:.2f} s", "", ""],
        ["  of it the bootstrap", f"{bootstrap.seconds:.2f} s", "", ""],
    ]
    for component in bootstrap.components:
        name = component.relations[0]
        if name in counted:
            each = component.seconds / counted[name] * 1e6
            label = f"    of it {name}: {counted[name]:,} iterations"
            rows.append([label, f"{component.seconds:.2f} s", f"{each:.0f} µs each", f"{component.rows_out:,} rows"])
    for size in UPDATES:
        for action in ("delete", "insert"):
            epochs = [e["epoch"] for e in run.values[2:] if e["of"] == (size, action)]
            seconds = [e.seconds for e in epochs]
            changed = [e.changed for e in epochs]
            anew = sum(c.action == "bootstrap" for e in epochs for c in e.components)
            spread = f"{min(seconds):.3f} to {max(seconds):.3f} s"
            what = (
                f"{min(changed):,} to {max(changed):,} changed; recursions computed anew: {anew} of {2 * len(epochs)}"
            )
            rows.append([f"{action} {size} rows", f"{statistics.median(seconds):.3f} s", spread, what])
    notes = f"""\
Peak resident memory: {once.peak / GIB:.2f} GiB, after the updates {run.peak / GIB:.2f} GiB. Strategy nested,
refresh auto. A pipeline without Spark, kernels in the cache. processor: time of all threads, which a shared machine
hardly stretches. Updates: medians of {seeds} random sets of rows of both tables, each deleted and then put back;
changed: rows of the four outputs; computed anew: how many of the recursions. Row counts are as in data/README.md,
before the updates and after them. Targets: files to results at most 4 s, an iteration at most 100 µs.{failure(run)}"""
    report("crdt", "CRDT", ["what", "time", "", " "], rows, notes)


def show_published(folder: Path, strategies: list[str], memory: int, limit: float) -> None:
    """The form with 151,669,663 rows."""
    rows = []
    for strategy in strategies:
        run = isolated(measure, PUBLISHED, folder, strategy, 0, memory=memory, seconds=limit)
        seconds = kept = "-"
        if run.values:
            bootstrap = run.values[0]["bootstrap"]
            seconds, kept = f"{bootstrap.seconds:.1f}", f"{sum(c.state_bytes for c in bootstrap.components) / GIB:.1f}"
        rows.append([strategy, seconds, f"{run.peak / GIB:.1f}", kept, run.failure or "row counts as expected"])
    header = ["strategy", "bootstrap s", "peak GiB", "recursions keep GiB", "outcome"]
    notes = f"skipBlank has 151,669,663 rows. Limits for each strategy: {memory / GIB:.0f} GiB, {limit:.0f} s."
    missing = [strategy for strategy in ("full", "elastic", "nested") if strategy not in strategies]
    notes += f" Not run: {', '.join(missing)}." if missing else ""
    report("crdt-published", "CRDT as first published", header, rows, notes)


def show_asked(folder: Path, seeds: int) -> None:
    """The rows that both forms visit, when nobody reads skipBlank of the one as first published."""
    rows = []
    for form, problem in (("as in data/README.md", CRDT), ("as first published", ASKED)):
        run = isolated(measure, problem, folder, "nested", seeds)
        bootstrap, total, *updates = run.values
        epoch_ = bootstrap["bootstrap"]
        recursion = epoch_.components[-1].rows_visited
        hundred = [e["epoch"].visited for e in updates if e["of"][0] == UPDATES[-1]]
        visited = f"{statistics.median(hundred):,.0f}" if hundred else "-"
        rows.append([form, f"{epoch_.visited:,}", f"{recursion:,}", visited, f"{total['processor']:.1f} s"])
    header = ["rules", "visited", "of it by skipBlank", f"by {UPDATES[-1]} rows changed", "processor"]
    report("crdt-asked", "CRDT in both forms, skipBlank of the published one hidden", header, rows, "Rows visited.")


def failure(run: Outcome) -> str:
    """What a run that did not finish must say."""
    return f"\nNOT FINISHED: {run.failure}" if run.failure else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--asked", action="store_true")
    parser.add_argument("--strategies", nargs="+", default=["full", "elastic", "nested"], help="for --published")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--memory", type=int, default=18)
    parser.add_argument("--limit", type=float, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        CRDT.unpack(Path(name))
        if options.published:
            show_published(Path(name), options.strategies, options.memory * GIB, options.limit)
        elif options.asked:
            show_asked(Path(name), options.seeds)
        else:
            show(Path(name), options.seeds)
