"""A case computed by FlowLog: its program compiled, then run on files, in its batch mode or its incremental one."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
from cases import PROGRAMS, Case, Tables
from deltic_cases import changes, checksum
from harness import Watch

# As FlowLog prints what something took: 1.5s, 20ms, 3µs, and of what.
_TAKEN = re.compile(r"([\d.]+)(ns|µs|ms|s):\s+(Data loaded|Dataflow assembled|Dataflow executed|Committed)")
_UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Measured:
    """Seconds of computing from loaded rows to the view, of all processors (with loading), and the peak of memory.

    `rows` and `checksum` of the view, where it was written; `change` is the median of the seconds of a change.
    """

    seconds: float
    processor: float
    peak: int
    rows: int = -1
    checksum: int = 0
    change: float | None = None


class FlowLog:
    """FlowLog's compiler, and the programs that it made, in a folder: kept, for each takes a minute and a half."""

    def __init__(self, folder: Path, workers: int, seconds: float) -> None:
        self.folder, self.workers, self.seconds = folder, workers, seconds
        self.compiler = shutil.which("flowlog-compiler")
        self.stopped = f"stopped after {seconds:.0f} s"

    def program(self, case: Case, mode: str) -> Path | None:
        """The program, compiled when it is not there; None without a compiler, or if it refuses."""
        made = self.folder / f"{case.program}-{mode}"
        if not made.exists() and self.compiler:
            own = PROGRAMS / f"{case.program}.flowlog.dl"
            text = own.read_text(encoding="utf-8") if own.exists() else case.text
            source = self.folder / "src" / f"{case.program}-{mode}.dl"
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text if mode == "batch" else text.replace(".output", ".printsize"))
            options: list[str | Path] = ["--mode", f"datalog-{mode}", "-F", ".", "-D", ".", "-o", made]
            options += ["-B", self.folder / f"crate-{mode}"]
            # A folder that is kept would be compiled incrementally, to slower code.
            environment = os.environ | {"CARGO_INCREMENTAL": "0"}
            subprocess.run([self.compiler, source, *options], capture_output=True, env=environment)
        return made if made.exists() else None

    def batch(self, case: Case, files: Path) -> Measured | str | None:
        """The view from the files, written into one."""
        program = self.program(case, "batch")
        if program is None:
            return None
        watch, taken = self._run(f"{program} -w {self.workers}", files)
        if "Dataflow executed" not in taken:
            return self.stopped
        parsing = csv.ParseOptions(delimiter="\t")
        view = csv.read_csv(files / f"{case.view}.csv", csv.ReadOptions(autogenerate_column_names=True), parsing)
        seconds = taken["Dataflow executed"][0] - sum(taken["Data loaded"])
        return Measured(seconds, watch.processor, watch.peak, len(view), checksum(view))

    def incremental(self, case: Case, files: Path, tables: Tables) -> Measured | str | None:
        """The view from the files, which are read before the first command, kept fresh through the changes."""
        program = self.program(case, "inc")
        if program is None:
            return None
        commands: list[str] = []
        for number, rows in enumerate(changes(case, tables)):
            write(rows, files / f"change{number}.facts")
            for sign in ("-1", "+1"):
                commands += ["begin", f"file {case.changing} change{number}.facts {sign}", "commit"]
        commands.append("quit\n")
        (files / "commands").write_text("\n".join(commands))
        watch, taken = self._run(f"{program} -w {self.workers} < commands", files)
        if len(taken.get("Committed", ())) < commands.count("commit"):
            return self.stopped
        seconds = taken["Dataflow assembled"][0] - sum(taken["Data loaded"][: len(tables)])
        change = statistics.median(taken["Committed"])
        return Measured(seconds, watch.processor, watch.peak, change=change)

    def _run(self, command: str, files: Path) -> tuple[Watch, dict[str, list[float]]]:
        """Run a command among the files; what it says it took, as far as it came."""
        watch = Watch(["sh", "-c", f"cd {files} && timeout {self.seconds} {command} || true"])
        return watch, _taken(watch.run())


def _taken(output: str) -> dict[str, list[float]]:
    """The seconds that FlowLog says things took, by what it was."""
    taken: dict[str, list[float]] = {}
    for number, unit, what in _TAKEN.findall(output):
        taken.setdefault(what, []).append(float(number) * _UNITS[unit])
    return taken


def write(rows: pa.Table, path: Path) -> None:
    """The rows as FlowLog reads them."""
    csv.write_csv(rows, path, csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none"))
