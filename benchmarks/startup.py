"""What a process costs before it has done anything: an import, a first transaction, a program run on three rows.

`python benchmarks/startup.py [--before DIR] [--repeat N]` runs each in fresh processes, of this checkout and of another
one, by turns, and says the least of each figure: the first run of each compiles what is missing, and is not counted.
`--cold` also compiles all that the recursive program calls, into an empty cache, and counts the processor's seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness import report

HERE = Path(__file__).parents[1]

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""

TRANSACTION = f"""
import json, time
import deltic, deltic.pipeline.session, deltic.engine.executors.inline.executor
pipeline = deltic.Pipeline()
pipeline.datalog({PROGRAM!r})
spent = time.process_time()
with pipeline.transaction() as change:
    change.insert("edge", [(1, 2), (2, 3), (3, 4)])
print(json.dumps(time.process_time() - spent))
"""


@dataclass(frozen=True)
class Cost:
    """Seconds by the wall clock and of the processor, the peak of resident memory in bytes, and what was printed."""

    seconds: float
    processor: float
    peak: int
    output: str


def cost(command: list[str], source: Path, **environment: str) -> Cost:
    """What a command costs that runs the package of a checkout, its children included."""
    inherited = os.environ | {"PYTHONPATH": str(source / "src")} | environment
    started = time.perf_counter()
    with subprocess.Popen(
        command, env=inherited, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        output = child.stdout.read() if child.stdout else ""
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command} failed with status {child.returncode}")
    return Cost(time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss << 10, output)


def cases(folder: Path) -> dict[str, list[str]]:
    """The commands, whose files are in a folder."""
    (folder / "path.dl").write_text(PROGRAM)
    (folder / "edge.facts").write_text("1\t2\n2\t3\n3\t4\n")
    run = ["run", str(folder / "path.dl"), "--facts", str(folder), "--out", str(folder / "out")]
    return {
        "import deltic": [sys.executable, "-c", "import deltic"],
        "first transaction": [sys.executable, "-c", TRANSACTION],
        "deltic run": [sys.executable, "-m", "deltic.cli.main", *run],
    }


def line(checkout: str, case: str, costs: list[Cost]) -> list[object]:
    """One row of the report."""
    beyond = min((json.loads(c.output) for c in costs), default=0.0) if case == "first transaction" else None
    return [
        checkout,
        case,
        f"{min(c.seconds for c in costs):.2f}",
        f"{min(c.processor for c in costs):.2f}",
        f"{min(c.peak for c in costs) / 1e6:.0f}",
        "" if beyond is None else f"{1000 * beyond:.0f}",
    ]


def cold(checkout: str, source: Path, command: list[str]) -> list[object]:
    """The row of a first run on a machine: all that the program calls is compiled."""
    with tempfile.TemporaryDirectory() as cache:
        return line(
            checkout, "deltic run, cold", [cost(command, source, DELTIC_CACHE_DIR=cache, NUMBA_CACHE_DIR=cache)]
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cold", action="store_true", help="compile into an empty cache too")
    options = parser.parse_args()
    checkouts = {"before": options.before, "now": HERE} if options.before else {"now": HERE}
    with tempfile.TemporaryDirectory() as folder:
        commands = cases(Path(folder))
        found: dict[tuple[str, str], list[Cost]] = {}
        for turn in range(options.repeat + 1):
            for case, command in commands.items():
                for checkout, source in checkouts.items():
                    spent = cost(command, source)
                    if turn:
                        found.setdefault((checkout, case), []).append(spent)
        rows = [line(*key, costs) for key, costs in found.items()]
        if options.cold:
            rows += [cold(checkout, source, commands["deltic run"]) for checkout, source in checkouts.items()]
    notes = (
        "The least of each figure. s: by the wall clock, which other work on the machine stretches; CPU s: of all\n"
        "processors, children included; transaction ms: of the processor, beyond imports and definitions.\n"
        "Goal: 1 s and 180 MB for a run, a first transaction under 50 ms."
    )
    header = ["checkout", "process", "s", "CPU s", "peak MB", "transaction ms"]
    report("startup", "What a process costs before it has done anything, from a warm cache", header, rows, notes)


if __name__ == "__main__":
    main()
