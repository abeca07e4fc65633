"""Ordinary programs on ordinary, skewed and long data: what Deltic visits for them, and what it takes.

`python benchmarks/pathologies.py [CASE …]` computes each case in a process of its own, then changes it a little, and
stops one after `--seconds`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from cases import CASES, Case
from deltic_cases import CHANGED, measure
from harness import report
from isolated import GIB, isolated

from deltic import Maintenance

HEADER = ["case", "rows", "view", "visited", "as written", "s", "processor s", "peak GiB"]
HEADER += ["change ms", "processor ms", "visited ", "as written "]
NOTES = f"""\
The five figures after the view are of the bootstrap, the last four medians over changes: {CHANGED} random rows of one
table are deleted, or come back. visited: rows and index entries; as written: the same without the rewrites of plans.
s: from Arrow tables to the view; processor s: of all threads. peak: of a process of its own, data and imports
included. Kernels were loaded before."""
PLAIN = Maintenance(eliminate=False, share=False, demand=False)


def cells(case: Case, memory: int, seconds: float) -> list[object]:
    """One row of the table."""
    run = isolated(measure, case.name, memory=memory, seconds=seconds)
    plain = isolated(measure, case.name, PLAIN, memory=memory, seconds=seconds)
    found: list[Any] = run.values
    row: list[object] = [case.name, *["-"] * (len(HEADER) - 1)]
    row[7] = f"{run.peak / GIB:.2f}"
    if found:
        row[1] = f"{found[0]['loaded']:,}"
        row[3] = f"{found[0]['visited']:,}"
        row[5:7] = f"{found[0]['seconds']:.2f}", f"{found[0]['processor']:.2f}"
    if len(found) > 1:
        row[2] = f"{found[1]['rows']:,}"
    if len(found) > 2:
        row[8] = f"{1000 * _median(found, 'seconds'):.1f}"
        row[9] = f"{1000 * _median(found, 'processor'):.1f}"
        row[10] = f"{_median(found, 'visited'):,.0f}"
    if run.failure:
        row[2 if len(found) < 2 else 8] = run.failure
    row[4] = f"{plain.values[0]['visited']:,}" if plain.values else plain.failure
    row[11] = f"{_median(plain.values, 'visited'):,.0f}" if len(plain.values) > 2 else plain.failure
    return row


def _median(found: list[Any], key: str) -> float:
    """Of the changes, which come after what is told of the bootstrap and of the view."""
    values: list[float] = [change[key] for change in found[2:]]
    return statistics.median(values)


def chosen(names: list[str]) -> list[Case]:
    """The cases whose names contain any of these; all where there are none."""
    return [case for case in CASES if not names or any(name in case.name for name in names)]


def main(names: list[str], memory: int, seconds: float) -> None:
    """Measure and report."""
    rows: list[list[object]] = []
    for case in chosen(names):
        print(case.name, file=sys.stderr, flush=True)
        rows.append(cells(case, memory, seconds))
    report("pathologies", "What ordinary programs visit", HEADER, rows, NOTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="a part of the names of the cases to compute")
    parser.add_argument("--memory", type=int, default=6, help="GiB at which a case is stopped")
    parser.add_argument("--seconds", type=float, default=30, help="after which a case is stopped")
    options = parser.parse_args()
    main(options.names, options.memory * GIB, options.seconds)
