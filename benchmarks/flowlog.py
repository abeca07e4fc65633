"""Deltic beside FlowLog, in its batch and its incremental mode, and DuckDB, on the cases of `pathologies`.

`python benchmarks/flowlog.py [CASE …]` computes each case with each, in a process of its own, then changes it a little.
FlowLog is asked where its compiler is on the PATH, or compiled programs are in `--programs`; each answer is compared
with Deltic's: the number of rows, and a checksum that does not depend on their order.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
from cases import BY_NAME, Case
from deltic_cases import CHANGED, checksum, measure
from flowlog_cases import FlowLog, Measured, write
from harness import report
from isolated import GIB, Outcome, isolated
from pathologies import chosen

HEADER = ["case", "view", "by", "s", ": FlowLog", "processor s", "peak GiB", "change ms", "FlowLog :", "answer"]
NOTES = f"""\
s: from loaded rows to the view: Deltic from Arrow tables in memory, which it encodes and sorts, FlowLog without reading
its files, DuckDB from its tables. : FlowLog, Deltic's seconds over those of FlowLog's batch mode. processor s: of all
threads, for FlowLog with reading and writing files. change: the median over deletions of {CHANGED} random rows of one
table and their return; FlowLog :, how many times as long FlowLog's incremental mode takes as Deltic. answer: whether
rows and checksum are Deltic's. FlowLog has {{workers}} workers.
The changes of closure, cspa and dyck are 2 to 6 % of a table whose arcs nearly all lie on one another's paths: 100 arcs
of random closure take 80,138 pairs away and give 472,570 of 2.5 M another iteration; of the chain 2 % are left."""


def by_deltic(case: Case, seconds: float) -> Measured | str:
    """What Deltic takes, or why it did not finish."""
    run = isolated(measure, case.name, seconds=seconds)
    if len(run.values) < 3:
        return run.failure
    first, view, *changes = run.values
    change = statistics.median(c["seconds"] for c in changes)
    return Measured(first["seconds"], first["processor"], run.peak, view["rows"], view["checksum"], change)


def query(name: str) -> Iterator[dict[str, Any]]:
    """DuckDB's answer to the query of a case."""
    case = BY_NAME[name]
    with duckdb.connect() as connection:
        for table, rows in case.generate().items():
            connection.register("rows", rows)
            connection.execute(f'CREATE TABLE "{table}" AS FROM rows')
        started, before = time.perf_counter(), time.process_time()
        connection.execute(f"CREATE TABLE answer AS {case.query}")
        yield {"seconds": time.perf_counter() - started, "processor": time.process_time() - before}
        answer = connection.sql("FROM answer").to_arrow_table()
        yield {"rows": len(answer), "checksum": checksum(answer)}


def by_duckdb(case: Case, seconds: float) -> Measured | str:
    """What DuckDB takes, or why it did not finish."""
    run: Outcome = isolated(query, case.name, seconds=seconds)
    if len(run.values) < 2:
        return run.failure
    return Measured(run.values[0]["seconds"], run.values[0]["processor"], run.peak, **run.values[1])


def rows_of(case: Case, flowlog: FlowLog, seconds: float) -> list[list[object]]:
    """The rows of one case: each engine that can compute it."""
    own = by_deltic(case, seconds)
    found: dict[str, Measured | str | None] = {"Deltic": own}
    with tempfile.TemporaryDirectory() as folder:
        tables = case.generate()
        for name, rows in tables.items():
            write(rows, Path(folder) / f"{name}.facts")
        found["FlowLog"] = flowlog.batch(case, Path(folder))
        found["FlowLog, incremental"] = flowlog.incremental(case, Path(folder), tables)
    if case.query is not None:
        found["DuckDB"] = by_duckdb(case, seconds)
    batch, incremental = found["FlowLog"], found["FlowLog, incremental"]
    table = [[case.name, *cells(name, one, own)] for name, one in found.items() if one is not None]
    if isinstance(own, Measured):
        table[0][1] = f"{own.rows:,}"
        if isinstance(batch, Measured):
            table[0][4] = f"{own.seconds / batch.seconds:.2f}"
        if isinstance(incremental, Measured) and incremental.change and own.change:
            table[0][8] = f"{incremental.change / own.change:.1f}"
    return table


def cells(name: str, one: Measured | str, own: Measured | str) -> list[object]:
    """What one engine took, but for the case's name."""
    if isinstance(one, str):
        return ["", name, one, "", "", "", "", "", ""]
    answer = ""
    if one is not own and one.rows >= 0:
        reference = one if isinstance(own, str) else own
        answer = "same" if (one.rows, one.checksum) == (reference.rows, reference.checksum) else f"{one.rows:,} rows"
    change = f"{1000 * one.change:.1f}" if one.change is not None else ""
    return ["", name, f"{one.seconds:.2f}", "", f"{one.processor:.2f}", f"{one.peak / GIB:.2f}", change, "", answer]


def main(names: list[str], programs: Path, workers: int, seconds: float) -> None:
    """Measure and report."""
    flowlog = FlowLog(programs, workers, seconds)
    rows: list[list[object]] = []
    for case in chosen(names):
        print(case.name, file=sys.stderr, flush=True)
        rows += rows_of(case, flowlog, seconds)
    report("flowlog", "Ordinary programs by Deltic, FlowLog and DuckDB", HEADER, rows, NOTES.format(workers=workers))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="a part of the names of the cases to compute")
    parser.add_argument("--programs", type=Path, default=Path(tempfile.gettempdir()) / "flowlog-programs")
    parser.add_argument("--workers", type=int, default=2, help="threads of FlowLog")
    parser.add_argument("--seconds", type=float, default=30, help="after which an engine is stopped")
    options = parser.parse_args()
    main(options.names, options.programs, options.workers, options.seconds)
