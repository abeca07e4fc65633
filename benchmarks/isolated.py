"""Runs a part of a benchmark in a fresh process, so that its memory is its own, within limits of memory and time."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

GIB = 1 << 30


@dataclass
class Outcome:
    """What the part yielded, the peak of its resident memory in bytes, and why it did not finish, if so."""

    values: list[Any] = field(default_factory=list)
    peak: int = 0
    failure: str = ""


def isolated(
    part: Callable[..., Iterator[Any]], *arguments: Any, memory: int = 18 * GIB, seconds: float = 3600
) -> Outcome:
    """Run a generator function in a process of its own; what it yielded before a limit was met is kept."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(there, part, arguments))
    outcome, started = Outcome(), time.perf_counter()
    process.start()
    there.close()
    while not outcome.failure:
        outcome.peak = max(outcome.peak, peak(process.pid))
        try:
            if here.poll(0.05):
                outcome.values.append(here.recv())
        except EOFError:
            break
        if outcome.peak > memory:
            outcome.failure = f"stopped at {memory / GIB:.0f} GiB"
        elif time.perf_counter() - started > seconds:
            outcome.failure = f"stopped after {seconds:.0f} s"
    if outcome.failure:
        process.kill()
    process.join()
    if process.exitcode and not outcome.failure:
        outcome.failure = f"failed with status {process.exitcode}"
    return outcome


def _run(connection: Connection, part: Callable[..., Iterator[Any]], arguments: tuple[Any, ...]) -> None:
    for value in part(*arguments):
        connection.send(value)


def peak(process: int | str | None = "self") -> int:
    """The peak of a process's resident memory in bytes; 0 when it is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM")), 0)
