"""What a second thread gains: Galen's bootstrap and large updates with one thread, and with as many as processors.

`python benchmarks/threads.py`; each number of threads has a fresh process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness import report
from isolated import GIB, isolated
from problems import GALEN
from replay import Epoch, Step, replay

from deltic.engine.resources import ResourceLimits

NOTES = """\
processor: time of all threads, so processor : s is how many were at work on average; that of the bootstrap includes
reading its files. What is visited, and the results, do not depend on the threads. Strategy nested, always updated.
peak: resident, of the process."""


def measure(folder: Path, threads: int, steps: list[Step]) -> Iterator[tuple[Epoch, float]]:
    """The epochs, each with the processor time since the one before."""
    before = time.process_time()
    for epoch in replay(GALEN, folder, "nested", "incremental", steps, ResourceLimits(threads=threads)):
        yield epoch, time.process_time() - before
        before = time.process_time()


def main(size: int) -> None:
    """Measure and report."""
    steps = [Step(size, 0, -1), Step(size, 0, 1)]
    what = ["bootstrap", f"delete {size:,} rows", f"put back {size:,} rows"]
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as unpacked:
        GALEN.unpack(Path(unpacked))
        counts = [1, os.cpu_count() or 1]
        runs = [isolated(measure, Path(unpacked), threads, steps) for threads in counts]
    for label, *epochs in zip(what, *(run.values for run in runs), strict=True):
        cells = [f"{value:.2f}" for epoch, processor in epochs for value in (epoch.seconds, processor)]
        rows.append([label, *cells, f"{epochs[0][0].seconds / epochs[1][0].seconds:.2f}"])
    rows.append(["peak GiB", *(cell for run in runs for cell in (f"{run.peak / GIB:.2f}", "")), ""])
    columns = [f"{count} thread{'s' * (count > 1)}: {what}" for count in counts for what in ("s", "processor s")]
    report("threads", "Galen by the number of threads", ["", *columns, "gain"], rows, NOTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    main(parser.parse_args().rows)
