"""The result of an epoch, or of a change of definitions, and the time of an epoch's phases."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltic.engine.changes import Changes
from deltic.engine.executors.placed import PartRun, Placed
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


@dataclass(kw_only=True)
class EpochNumbers:
    """What one epoch did, in numbers."""

    tables: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each table changed."""
    seconds: float = 0.0
    """The time of the engine, without reading and writing of files and DataFrames."""
    rows_visited: int = 0
    """The rows and index entries that the engine visited: the main part of the cost."""
    components: tuple[ComponentReport, ...] = ()
    """The action for each affected recursion and each relation that was recomputed, and the reason."""
    work: tuple[StratumWork, ...] = ()
    """The cost of each stratum that the epoch reached, in the order of the strata, including hidden relations."""
    extension: Extension | None = None
    """What was built, kept and dropped, if the epoch changed definitions."""
    late: tuple[LateRows, ...] = ()
    """The rows of tables that came too late and were left out, by table."""
    placement: Placed | None = None
    """Where the epoch ran, why, and the expected cost of each place; None if the engine has no choice."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """The seconds of each phase, in their order: lateness, moving (of the state, where it moves), encoding, evaluation,
    version, keys, application (what the caller did before it committed), log and publication. `seconds` is encoding,
    evaluation and version together; from an engine only these, if it measures them."""
    bytes_read: int = 0
    """Bytes of files that were read, if the epoch ran from files: of those that are mapped the pages that came,
    64 KiB to 2 MiB at a time, as far as the system tells."""
    bytes_written: int = 0
    """Bytes that epochs from files have put there: what is new of the state, and large batches of rows on their way,
    those that tasks have read of DataFrames and sources among them."""

    @property
    def rows_in(self) -> int:
        """The number of changed rows of all tables."""
        return sum(self.tables.values())


@dataclass
class EpochResult(EpochNumbers):
    """What one epoch did. Each layer adds what it knows until the epoch is committed."""

    changes: Changes = field(default_factory=Changes)
    """The change of each view that changed: its columns and WEIGHT, no row twice, no zero weight."""
    decisions: tuple[KeptDecision, ...] | None = None
    """The relations that the plan stores in addition to those of the program, if the epoch started with another plan.
    """
    parts: tuple[PartRun, ...] = ()
    """What ran in an epoch of shards in files, a job first."""


class Phases:
    """The seconds of each phase, in the order in which they ended. `end` ends the running one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def end(self, phase: str) -> None:
        """End the running phase under this name. Phases with the same name are added."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._began
        self._began = now

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add phases that were measured elsewhere, and ended now."""
        self.seconds.update(seconds)
        self._began = time.perf_counter()
