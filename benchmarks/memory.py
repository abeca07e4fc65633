"""State larger than memory: reachability loaded in batches under a limit of memory, with its runs in files and without.

`python benchmarks/memory.py` needs root, for the limit is a control group's: it counts all that the process takes once
its libraries are loaded, the pages of mapped files included, and the system ends a process that cannot keep to it. A
quarter of that is for large arrays in memory; further ones are files in --spill, or in a temporary directory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from graphs import REACHABILITY, sparse
from growth import PER_NODE, warm_up
from harness import report
from isolated import GIB, isolated
from problems import new_engine, signed
from pyarrow import feather

from deltic.engine.resources import ResourceLimits

UPDATES = 50
CONTROL = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Limit:
    """A control group for memory, of either version of the interface."""

    group: Path
    most: str

    @classmethod
    def find(cls) -> Limit:
        """The group of this benchmark; exits where there can be none."""
        first = (CONTROL / "memory").is_dir()
        group = CONTROL / "memory" / "deltic" if first else CONTROL / "deltic"
        try:
            group.mkdir(exist_ok=True)
            (group / "cgroup.procs").read_text()
        except OSError as error:
            sys.exit(f"cannot limit memory here: {error}; run as root on a system with control groups")
        return cls(group, "memory.limit_in_bytes" if first else "memory.max")

    def enter(self, gib: float) -> None:
        """Let this process hold no more than so much."""
        (self.group / self.most).write_text(str(int(gib * GIB)))
        (self.group / "cgroup.procs").write_text(str(os.getpid()))


def measure(path: Path, limit: Limit, gib: float, directory: str, batch: int) -> Iterator[dict[str, Any]]:
    """Load the graph in batches, then delete single edges and put them back."""
    if gib:
        limit.enter(gib)
    graph: pa.Table = feather.read_table(path, memory_map=True)
    resources = ResourceLimits.of(spill=directory or None, memory=int(gib * GIB / 4) if directory and gib else None)
    engine = new_engine(REACHABILITY, policy="incremental", resources=resources)
    warm_up()
    started = time.perf_counter()
    for first in range(0, len(graph), batch):
        engine.apply(signed({"edge": graph.slice(first, batch)}, 1))
        yield {"load": time.perf_counter() - started, "state": engine.nbytes}
    for row in np.random.default_rng(1).integers(0, len(graph), UPDATES).tolist():
        for weight in (-1, 1):
            changes = signed({"edge": graph.slice(row, 1)}, weight)
            started = time.perf_counter()
            engine.apply(changes)
            yield {"update": time.perf_counter() - started}


HEADER = ["limit GiB", "runs in", "edges loaded", "s", "state GiB", "update ms", "slowest ms", ""]
NOTES = f"""\
Edges are loaded in batches, half of one to a node. limit: of all memory that the process takes once its libraries are
loaded, mapped pages included. update: median of {2 * UPDATES} epochs that delete one edge or put it back, anywhere.
spill: large arrays beyond a quarter of the limit are files, those of an epoch's way included; memory: none are."""


def main(edges: int, limits: list[float], batch: int, spill: str | None) -> None:
    """Measure and report."""
    limit = Limit.find()
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(dir=spill) as folder:
        path = Path(folder) / "graph.arrow"
        feather.write_feather(sparse(edges, PER_NODE), path, compression="uncompressed")
        for gib in [0.0, *limits]:
            for directory in ("", folder):
                run = isolated(measure, path, limit, gib, directory, batch)
                loads = [value for value in run.values if "load" in value]
                updates = [1000 * value["update"] for value in run.values if "update" in value]
                last = loads[-1] if loads else {"load": 0.0, "state": 0}
                cells = [gib or "-", "spill" if directory else "memory", f"{min(len(loads) * batch, edges):,}"]
                cells += [f"{last['load']:.1f}", f"{last['state'] / GIB:.2f}"]
                cells += [f"{statistics.median(updates):.2f}", f"{max(updates):.1f}"] if updates else ["-", "-"]
                rows.append([*cells, run.failure and "ended by the system: " + run.failure])
    report("memory", f"State larger than memory, loaded in batches of {batch:,} edges", HEADER, rows, NOTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=40_000_000)
    parser.add_argument("--limits", type=lambda text: [float(gib) for gib in text.split(",")], default=[1.0])
    parser.add_argument("--batch", type=int, default=1_000_000)
    parser.add_argument("--spill")
    options = parser.parse_args()
    main(options.edges, options.limits, options.batch, options.spill)
