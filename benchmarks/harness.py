"""What every benchmark shares: a table on the terminal and the same table, with the machine, in results/."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(os.environ.get("DELTIC_RESULTS", Path(__file__).parent / "results"))
DATA = Path(__file__).parents[2] / "shared" / "data"
STARTED = os.getloadavg()[0]
TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Linux counts processor time in so many seconds."""


def machine() -> str:
    """The machine, and how busy it was, in two lines."""
    described = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in described if line.startswith("model name")), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = platform.python_version()
    hardware = f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {platform.system()}"
    load = f"load average {STARTED:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    return f"{hardware}, Python {python}, {date.today()}\n{load}"


def report(name: str, title: str, header: Sequence[str], rows: Sequence[Sequence[object]], notes: str = "") -> None:
    """Print a table and write it to results/NAME.txt."""
    cells = [list(header), *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    text = "\n".join([title, machine(), "", *lines, *(["", notes] if notes else [])]) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.txt").write_text(text, encoding="utf-8")
    print(text)


def side_by_side(program: str, arguments: Sequence[str], before: Path | None) -> dict[str, Any]:
    """What a benchmark prints of this checkout, "now", and of the one `before`, if there is any.

    Each is run with `--print` in a process of its own, and prints JSON.
    """
    found = {}
    for name, checkout in {"before": before, "now": Path(__file__).parents[1]}.items():
        if checkout is not None:
            inherited = os.environ | {"PYTHONPATH": str(checkout / "src")}
            command = [sys.executable, program, *arguments, "--print"]
            found[name] = json.loads(subprocess.check_output(command, env=inherited, text=True))
    return found


class Watch:
    """Runs a command and watches the resident memory of it and all of its children.

    `processor` is the processor time of all of them, in seconds: what a shared machine does not stretch.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = command
        self.seconds = self.processor = 0.0
        self.peak = 0

    def run(self) -> str:
        """The command's standard output; raises when it fails."""
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        watcher = threading.Thread(target=self._watch, args=(process,), daemon=True)
        watcher.start()
        output, _ = process.communicate()
        self.seconds = time.perf_counter() - started
        watcher.join()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if process.returncode:
            sys.exit(f"{' '.join(self.command)} failed with status {process.returncode}")
        return output

    def _watch(self, process: subprocess.Popen[str]) -> None:
        while process.poll() is None:
            self.peak = max(self.peak, sum(map(_resident, _family(process.pid))))
            time.sleep(0.1)


def _family(root: int) -> list[int]:
    """A process and its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    family, pending = [], [root]
    while pending:
        family.append(pending.pop())
        pending.extend(parents.get(family[-1], ()))
    return family


class Processor:
    """The processor time of this process and of all that it starts.

    Spark's Python workers end after a minute without work, and Linux forgets then what they have taken, for nobody
    waits for them. So each process is looked at every second, and counts with what it had taken last.
    """

    def __init__(self) -> None:
        self._ticks: dict[tuple[int, str], int] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def seconds(self) -> float:
        """Since these processes have begun."""
        with self._lock:
            for pid in _family(os.getpid()):
                try:
                    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                self._ticks[pid, fields[19]] = int(fields[11]) + int(fields[12])
            return sum(self._ticks.values()) * TICK

    def _watch(self) -> None:
        while True:
            self.seconds()
            time.sleep(1)


def _resident(pid: int) -> int:
    """The resident memory of a process that is its own, in bytes; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
