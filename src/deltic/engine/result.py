"""The result of an epoch, or of a change of definitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltic.engine.changes import Changes
from deltic.engine.executors.placed import Placed
from deltic.engine.lateness import LateRows

if TYPE_CHECKING:
    from deltic.calculus.planning import KeptDecision


@dataclass(frozen=True)
class ComponentReport:
    """What one epoch did to the relations of a recursion, or to a relation that was recomputed."""

    relations: tuple[str, ...]
    strategy: str
    action: str
    """"update"; "bootstrap" if the relations of a recursion were recomputed, "recompute" if others were."""
    reason: str
    rows_in: int
    """The changed rows of the relations below."""
    rows_out: int
    """The changed rows of the relations themselves."""
    rows_visited: int
    seconds: float
    state_bytes: int
    """The memory of the relations after the epoch: rows, counts, all column orders."""
    way: str = ""
    """On shards, if chosen by size: whether the recursion runs on one shard or in rounds, why, and the expected cost of
    the alternative.
    """


@dataclass(frozen=True)
class StratumWork:
    """The cost of one stratum's relations in an epoch."""

    relations: tuple[str, ...]
    rows_visited: int
    seconds: float


@dataclass(frozen=True)
class Extension:
    """What an engine did to relations when definitions changed, by their names in its plans."""

    built: tuple[str, ...] = ()
    """The relations that were computed from all rows of their sources."""
    kept: tuple[str, ...] = ()
    """The relations that stayed, with their state."""
    dropped: tuple[str, ...] = ()
    """The relations that were dropped. The state of relations that were rebuilt under the same name is dropped, too."""
    moved: tuple[str, ...] = ()
    """The relations that stayed, but whose rows are on other shards now, by another key."""
    partial: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The views that were computed from tables with forgotten rows, with these tables."""
    ended: tuple[str, ...] = ()
    """The views that were dropped, or have other columns: changes under their names do not continue the old ones."""

    def of(self, relations: Collection[str]) -> Extension:
        """Return the part about some relations."""
        groups = (self.built, self.kept, self.moved)
        built, kept, moved = (tuple(name for name in names if name in relations) for names in groups)
        return Extension(built, kept, moved=moved)

    def __str__(self) -> str:
        parts = {"built": self.built, "kept": self.kept, "moved": self.moved, "dropped": self.dropped}
        texts = [f"{what} {', '.join(names)}" for what, names in parts.items() if names]
        return "; ".join([*texts, *self.notes])

    @property
    def notes(self) -> list[str]:
        """Return notes about views that do not see all past rows."""
        return [
            f"{view} sees what is left of {', '.join(tables)}: rows before a watermark were forgotten"
            for view, tables in self.partial.items()
        ]


@dataclass
class EpochResult:
    """What one epoch did. Each layer adds what it knows until the epoch is committed."""

    changes: Changes = field(default_factory=Changes)
    """The change of each view that changed: its columns and WEIGHT, no row twice, no zero weight."""
    tables: Mapping[str, int] = field(default_factory=dict)
    """The number of changed rows of each table."""
    rows_visited: int = 0
    """The rows and index entries that the engine visited."""
    seconds: float = 0.0
    components: tuple[ComponentReport, ...] = ()
    """The recursions that the epoch affected, and the relations that it recomputed."""
    work: tuple[StratumWork, ...] = ()
    """The cost of each stratum that the epoch reached, in the order of the strata."""
    extension: Extension | None = None
    """What became of the relations, if the epoch changed the circuit."""
    decisions: tuple[KeptDecision, ...] | None = None
    """The relations that the plan stores in addition to those of the program, if the epoch started with another plan.
    """
    late: tuple[LateRows, ...] = ()
    """The changes of tables that came too late, and were left out."""
    placement: Placed | None = None
    """Where the epoch ran, and why, if an engine chooses."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """The seconds of each phase, in order; from an engine those within `seconds`, if it measures them.

    The phases of a commit are added.
    """
    bytes_read: int = 0
    """The bytes of files that a job has read; of mapped files the present pages, if the system reports them."""
    bytes_written: int = 0
    """The bytes that a job has written to files: new state, and large batches of rows in transit."""

    @property
    def rows_in(self) -> int:
        """The number of changed rows of tables."""
        return sum(self.tables.values())
