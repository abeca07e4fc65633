"""Where an epoch runs: in the driver's process, or as one Spark job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Executor = Literal["process", "job"]
TOLD: dict[Executor, str] = {"process": "in the driver's process", "job": "as one Spark job"}
"""What the executors are called in reports."""

# The rows of a change from which on a job is worth its start, and the bytes of state that the driver keeps in memory.
ROWS = 1_000_000
MEMORY = 4 << 30


@dataclass(frozen=True)
class Placement:
    """What decides; `always` is what was chosen for all epochs."""

    always: Executor | None = None
    rows: int = ROWS
    memory: int = MEMORY

    def of(self, rows: int, state: int) -> tuple[Executor, str]:
        """The executor of an epoch that changes so many rows, beside a state of so many bytes; and why."""
        if self.always:
            return self.always, "it was chosen for all epochs"
        if state > self.memory:
            return "job", f"the state has {state:,} bytes, and the driver is to hold {self.memory:,}"
        if rows >= self.rows:
            return "job", f"{rows:,} rows change, and from {self.rows:,} on a job pays"
        return "process", f"{rows:,} rows change, which takes less than a job's start"
