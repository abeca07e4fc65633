"""Where an epoch ran, why, and its expected cost elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from deltic.errors import count_of
from deltic.values.words import some_of

Place = Literal["local", "process", "files", "job"]
"""Where an epoch, or a part of one, can run: the local engine; shards in the driver's process, with the state in its
memory or in files; shards as one Spark job.
"""

RoundsChoice = Literal["auto", "always", "never"]
"""When a recursion without a preserved key runs in rounds on shards: if it outgrows one task, always, or never."""

CopiesChoice = Literal["auto", "never"]
"""Whether every shard has a copy of relations that are small compared to those that they are joined with."""

TOLD: dict[Place, str] = {
    "local": "by the local engine",
    "process": "on shards in the driver's process",
    "files": "in the driver's process from files",
    "job": "as one Spark job",
}
"""The names of the places in reports."""


@dataclass(frozen=True)
class Expected:
    """The expected cost of an epoch at a place."""

    seconds: float
    """The expected time of the epoch."""
    bytes: int
    """The bytes of state in the driver's memory after it."""
    moving: float = 0.0
    """The seconds of a move before it, if the state is elsewhere."""

    def __str__(self) -> str:
        moving = f" after a move of {_seconds(self.moving)}" if self.moving else ""
        return f"{_seconds(self.seconds)}{moving}, {self.bytes:,} bytes"


@dataclass(frozen=True)
class PartRun:
    """The parts of an epoch from files that ran together, in the driver's process or as a job, and what they cost."""

    place: Place
    rows: Mapping[str, int]
    """The numbers of changed rows of their tables."""
    rows_visited: int
    seconds: float

    def __str__(self) -> str:
        return f"{TOLD[self.place]}: {some_of(list(self.rows), 3)} ({count_of(sum(self.rows.values()), 'row')})"


@dataclass(frozen=True)
class Placed:
    """The place where an epoch ran."""

    place: Place
    reason: str
    expected: Mapping[Place, Expected]
    """The expected cost at each place where it could run."""
    moved: float | None = None
    """The seconds that it took to move the state there; None if it was there."""
    parts: Sequence[PartRun] = ()
    """What ran in an epoch from files, at `place` first."""

    @property
    def summary(self) -> str:
        """Return where it ran, and why."""
        moved = "" if self.moved is None else f", after a move of {_seconds(self.moved)}"
        return "; ".join([f"{TOLD[self.place]}{moved}: {self.reason}", *map(str, self.parts[1:])])

    @property
    def alternatives(self) -> list[str]:
        """Return the expected cost at each place."""
        return [f"{TOLD[place]}: expected {cost}" for place, cost in self.expected.items()]

    def __str__(self) -> str:
        return "; ".join([self.summary, *self.alternatives])


def _seconds(seconds: float) -> str:
    """Return a duration as text: seconds, or milliseconds below one second."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:,.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
