"""The outcome and the progress of a job over files."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from deltic.errors import DelticError
from deltic.pipeline.epochs.report import EpochReport


@dataclass(frozen=True)
class EpochDone:
    """One epoch in numbers; the reading of its files and the writing of its changes stand beside the engine's time."""

    name: str
    report: EpochReport
    read_seconds: float
    write_seconds: float
    rejected: int


@dataclass(frozen=True)
class WrittenRelation:
    """A relation that was written, with the number of its rows."""

    name: str
    rows: int
    path: Path


@dataclass
class JobOutcome:
    """The results of a job; `failure` is the reason where it stopped early."""

    watched: tuple[str, ...] = ()
    """The views that the program outputs or whose size it prints."""
    epochs: list[EpochDone] = field(default_factory=list)
    written: list[WrittenRelation] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    """What the program writes to standard output."""
    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    write_seconds: float = 0.0
    failure: EpochRejected | None = None


class EpochRejected(DelticError):
    """An epoch was rejected, and the run stopped before it; `reason` says what is wrong with it."""

    def __init__(self, epoch: str, last: str, reason: DelticError) -> None:
        self.epoch, self.last, self.reason = epoch, last, reason
        super().__init__(f"epoch {epoch} was rejected whole; the views are as after epoch {last}\n{reason}")


class JobProgress:
    """Receives the progress of a job, and ignores it."""

    def step(self, what: str) -> AbstractContextManager[None]:
        """Around one piece of work."""
        return nullcontext()

    def expect(self, epochs: int) -> None:
        """How many epochs there will be, the initial one included."""

    def epoch(self, done: EpochDone) -> None:
        """One epoch was applied."""
