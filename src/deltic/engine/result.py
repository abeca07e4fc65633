"""What an epoch, or a change of definitions, did."""

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
    """What one epoch did to the relations of one recursion, or to one recomputed for want of a derivative."""

    relations: tuple[str, ...]
    strategy: str
    action: str
    """"update"; "bootstrap" when the relations of a recursion were recomputed, "recompute" when others were."""
    reason: str
    rows_in: int
    """Changed rows of the relations below."""
    rows_out: int
    """Changed rows of the relations themselves."""
    rows_visited: int
    seconds: float
    state_bytes: int
    """The memory of the relations after the epoch: rows, counts, all column orders."""
    way: str = ""
    """On shards, where it goes by size: whether the recursion is on one of them or in rounds, why, and what the
    other was expected to cost."""


@dataclass(frozen=True)
class StratumWork:
    """What the relations of one stratum cost in an epoch, whatever was done to them."""

    relations: tuple[str, ...]
    rows_visited: int
    seconds: float


@dataclass(frozen=True)
class Extension:
    """What an engine made of other definitions: the relations that it keeps, by their names in its plans."""

    built: tuple[str, ...] = ()
    """Relations that were computed from the whole of what they read."""
    kept: tuple[str, ...] = ()
    """Relations that stayed, with their state."""
    dropped: tuple[str, ...] = ()
    """Relations that are no more. The state of those that were rebuilt under their name is gone, too."""
    moved: tuple[str, ...] = ()
    """Those of the relations that stayed whose rows are on other shards now, by another key."""
    partial: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Views that were computed from what is left of tables whose rows go with their watermarks, with these tables."""
    ended: tuple[str, ...] = ()
    """Views that are no more, or have other columns: what comes under their names does not follow on what they had."""

    def of(self, relations: Collection[str]) -> Extension:
        """What was made of some relations."""
        groups = (self.built, self.kept, self.moved)
        built, kept, moved = (tuple(name for name in names if name in relations) for names in groups)
        return Extension(built, kept, moved=moved)

    def __str__(self) -> str:
        parts = {"built": self.built, "kept": self.kept, "moved": self.moved, "dropped": self.dropped}
        texts = [f"{what} {', '.join(names)}" for what, names in parts.items() if names]
        return "; ".join([*texts, *self.notes])

    @property
    def notes(self) -> list[str]:
        """What is to be known of views that do not see all rows that there were."""
        return [
            f"{view} sees what is left of {', '.join(tables)}: rows before a watermark were forgotten"
            for view, tables in self.partial.items()
        ]


@dataclass(frozen=True)
class EpochResult:
    """What one epoch did."""

    changes: Changes = field(default_factory=Changes)
    """The change of each view that changed: its columns and WEIGHT, no row twice, no zero weight."""
    tables: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each table really changed."""
    rows_visited: int = 0
    """Rows and index entries that the engine looked at."""
    seconds: float = 0.0
    components: tuple[ComponentReport, ...] = ()
    """The recursions that the epoch concerned, and the relations that it recomputed."""
    work: tuple[StratumWork, ...] = ()
    """What each stratum that the epoch reached has cost, in the order of the strata; empty on shards."""
    extension: Extension | None = None
    """What became of the relations, where the epoch was a change of the circuit."""
    decisions: tuple[KeptDecision, ...] | None = None
    """What the plan keeps beside the relations of the program, where the epoch began with another plan."""
    late: tuple[LateRows, ...] = ()
    """Changes of tables that came too late, and were left out."""
    placement: Placed | None = None
    """Where the epoch ran, and why, where an engine chooses."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """The seconds of each phase, in their order; from an engine those within `seconds`, where it measures them.

    Those of an epoch that is being committed are added to it."""
    bytes_read: int = 0
    """Bytes of files that a job has read: of mapped ones the pages that came, as far as the system tells."""
    bytes_written: int = 0
    """Bytes that a job has put into files: what is new of the state, and large batches of rows on their way."""

    @property
    def rows_in(self) -> int:
        """Rows of the tables that really changed."""
        return sum(self.tables.values())
