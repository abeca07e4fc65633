"""What an engine is: it holds the tables and views of one circuit and applies changes to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol

from deltic.circuit.tables import WEIGHT as WEIGHT
from deltic.engine.changes import Changes
from deltic.engine.lateness import LateRows
from deltic.engine.placed import Placed
from deltic.engine.prepared import Prepared
from deltic.engine.version import Version
from deltic.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from deltic.calculus.planning import Decision
    from deltic.circuit.graph import Circuit
    from deltic.engine.batches import Batch, Changed
    from deltic.engine.comparing import Beside
    from deltic.engine.image import Image, Saved
    from deltic.engine.keyed import KeyedChange, RowChange
    from deltic.engine.shards.posted import Posted, Site
    from deltic.engine.watermark import Watermark

NOTHING: Mapping[str, Changed] = MappingProxyType({})
"""No rows of any table."""

# What to do with a change that does not fit the contents of a set: an insertion of a present row or a
# deletion of an absent one rejects the epoch, is made a no-op, or is believed without a look.
Conflicts = Literal["error", "normalize", "trust"]


@dataclass(frozen=True)
class ComponentReport:
    """What one epoch did to the relations of one recursion, or to one computed anew for want of a derivative."""

    relations: tuple[str, ...]
    strategy: str
    action: str
    """"update"; "bootstrap" when the relations of a recursion were computed anew, "recompute" when others were."""
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
class Extension:
    """What an engine made of other definitions: the relations that it keeps, by their names in its plans."""

    built: tuple[str, ...] = ()
    """Relations that were computed from the whole of what they read."""
    kept: tuple[str, ...] = ()
    """Relations that stayed, with their state."""
    dropped: tuple[str, ...] = ()
    """Relations that are no more. The state of those that were built anew under their name is gone, too."""
    moved: tuple[str, ...] = ()
    """Those of the relations that stayed whose rows are on other shards now, by another key."""
    partial: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Views that were computed from what is left of tables whose rows go with their watermarks, with these tables."""
    ended: tuple[str, ...] = ()
    """Views that are no more, or have other columns: what comes under their names does not follow on what they had."""

    def of(self, relations: Collection[str]) -> Extension:
        """What was made of some relations."""
        told = (self.built, self.kept, self.moved)
        built, kept, moved = (tuple(name for name in names if name in relations) for names in told)
        return Extension(built, kept, moved=moved)

    def __str__(self) -> str:
        parts = {"built": self.built, "kept": self.kept, "moved": self.moved, "dropped": self.dropped}
        told = [f"{what} {', '.join(names)}" for what, names in parts.items() if names]
        return "; ".join([*told, *self.told])

    @property
    def told(self) -> list[str]:
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
    rows_in: int = 0
    """Rows of the tables that really changed."""
    rows_visited: int = 0
    """Rows and index entries that the engine looked at."""
    seconds: float = 0.0
    components: tuple[ComponentReport, ...] = ()
    """The recursions that the epoch concerned, and the relations that it computed anew."""
    extension: Extension | None = None
    """What became of the relations, where the epoch was a change of the circuit."""
    decisions: tuple[Decision, ...] | None = None
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


@dataclass(frozen=True)
class Size:
    """The memory of one arrangement of a relation."""

    relation: str
    role: str
    """What it is for: "rows", "counts", or what an operator keeps."""
    columns: tuple[str, ...]
    """The columns in whose order the rows are, where it is for rows."""
    entries: int
    bytes: int


class Engine(Version, Protocol):
    """The engines' one interface. A batch has the columns of its table and an int64 column WEIGHT.

    An epoch is prepared, then committed or aborted; in between, reads show the state as it will be, and no other epoch
    can begin. `epoch` is the number of the last committed one, 0 before the first, `token` what its caller gave it, and
    `version` what other threads may read of it while further epochs are prepared.
    """

    epoch: int
    token: str
    version: Version
    _prepared: Prepared | None

    def read(
        self, name: str, *, table: bool = False, counted: bool = False, columns: Sequence[str] | None = None
    ) -> pa.Table:
        return self._now().read(name, table=table, counted=counted, columns=columns)

    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        return self._now().lookup(name, key, counted=counted)

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        return self._now().lookup_all(name, keys)

    def count_each(self, name: str, keys: pa.Table) -> npt.NDArray[np.int64]:
        return self._now().count_each(name, keys)

    def entries(self, name: str) -> int:
        return self._now().entries(name)

    def count(self, name: str, *, table: bool = False) -> int:
        return self._now().count(name, table=table)

    def _now(self) -> Version:
        """What is to be read: of the prepared epoch, else of the last one."""
        return self.version if self._prepared is None else self._prepared.version

    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        """Compute an epoch from changes of tables.

        Raises ChangeError for a change that does not fit, or a batch that has not the table's columns; KeyError
        for a table that is not there; DelticError while another epoch is prepared. After any exception the state is as
        before.
        """

    def apply(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> EpochResult:
        """Prepare an epoch and commit it at once; raises what `prepare` does."""
        with self.prepare(changes, conflicts, token) as epoch:
            return epoch.commit()

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> EpochResult:
        """Go on with another circuit, as one epoch in which no table changes; the changes are those of its views.

        Tables that have `rows` begin with these, whatever had their names before; others that both circuits have keep
        theirs, and views that both have change by the difference; a view that is new, or whose columns are others,
        comes with all of its rows. What is unchanged keeps its state and costs
        nothing. Raises UnsupportedError when the engine cannot run the circuit; after any exception the engine is as
        before, with the circuit of before.
        """

    def site(self, table: str) -> Site | None:
        """Where tasks may write rows of a table for the next epoch; None where this process is to have them."""
        return None

    def compared(self, table: str, rows: Posted, beside: Beside) -> Posted | None:
        """What comes and goes so that rows which tasks have written are held in place of others, found by tasks too.

        None where this process is to find it; not while an epoch is prepared.
        """
        return None

    def settled(
        self, table: str, changes: Sequence[RowChange | KeyedChange], conflicts: Conflicts, watermark: Watermark | None
    ) -> Batch | None:
        """What changes of a table amount to, one after the other, in weights, found by tasks.

        Those before the watermark are apart: the batch is Sifted. None where this process is to find it; not while an
        epoch is prepared. Raises AbsentKeys and UnorderedKeys.
        """
        return None

    def checks_keys(self, table: str) -> bool:
        """Whether an epoch, but one that trusts its changes, raises SharedKeys where rows of a table have one key."""
        return False

    def compact(self) -> bool:
        """Merge what epochs have left apart in files: whether this engine has any."""
        return False

    def sizes(self) -> list[Size]:
        """What is kept of each relation; nothing where an engine does not tell."""
        return []

    def forgotten(self, view: str) -> tuple[str, ...]:
        """The tables below a view of which rows have been forgotten, so that it cannot be computed anew from them."""
        return ()

    def explain(self, name: str, full: bool = False) -> str:
        """How the view is kept fresh, on a screen; `full`: with its circuits and all that the engine makes of them."""

    def capture(self) -> Image:
        """The committed state, to be written down. Raises UnsupportedError where the engine's lasts as the process."""
        raise UnsupportedError("this engine cannot write its state down: it lasts as long as the process")

    def restore(self, saved: Saved, tables_alone: bool = False) -> None:
        """Take the state of an engine for the same circuit as it was captured. Raises UnsupportedError.

        What has to be another relation by now is computed from what it reads, and with `tables_alone` everything but
        the tables is. After any exception the engine is as before.
        """
        raise UnsupportedError("this engine cannot take a state that was written down: load the tables instead")
