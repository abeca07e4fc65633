"""What an engine is: it holds the tables and views of one circuit and applies changes to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from deltic.circuit.tables import WEIGHT as WEIGHT
from deltic.engine.conflicts import Conflicts
from deltic.engine.maintenance import RelationPlan
from deltic.engine.prepared import Prepared
from deltic.engine.result import EpochResult
from deltic.engine.size import Size
from deltic.engine.version import Version
from deltic.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from deltic.circuit.graph import Circuit
    from deltic.engine.batches import Changed
    from deltic.engine.image import Image, Saved
    from deltic.engine.table_tasks import TableTasks

NOTHING: Mapping[str, Changed] = MappingProxyType({})
"""No rows of any table."""


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

    def prepare_extension(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> Prepared:
        """Compute an epoch that continues with another circuit; its changes are those of the views.

        No table changes. Tables that have `rows` begin with these, whatever had their names before; others that both
        circuits have keep theirs, and views that both have change by the difference; a view that is new, or whose
        columns are others, comes with all of its rows. What is unchanged keeps its state and costs nothing. Raises
        UnsupportedError when the engine cannot run the circuit. After any exception, and after `abort`, the engine is
        as before, with the circuit of before.
        """

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> EpochResult:
        """Prepare an extension and commit it at once; raises what `prepare_extension` does."""
        with self.prepare_extension(circuit, rows) as epoch:
            return epoch.commit()

    @property
    def tasks(self) -> TableTasks | None:
        """What tasks do for tables before the next epoch; None where this process is to do it."""
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
        """The tables below a view of which rows have been forgotten, so that it cannot be recomputed from them."""
        return ()

    def explain(self, name: str, full: bool = False) -> str:
        """How the view is kept fresh, on a screen; `full`: with its circuits and all that the engine makes of them."""

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        """What is kept of a view and of all that it is derived from; nothing where an engine does not tell."""
        return ()

    def views_by_relation(self) -> Mapping[str, tuple[str, ...]]:
        """For each relation of the plan the views that it is or is needed by; nothing where an engine does not tell."""
        return {}

    def capture(self) -> Image:
        """The committed state, to be written down. Raises UnsupportedError where the engine's lasts as the process."""
        raise UnsupportedError("this engine cannot write its state down: it lasts as long as the process")

    def restore(self, saved: Saved, tables_alone: bool = False) -> None:
        """Take the state of an engine for the same circuit as it was captured. Raises UnsupportedError.

        What has to be another relation by now is computed from what it reads, and with `tables_alone` everything but
        the tables is. After any exception the engine is as before.
        """
        raise UnsupportedError("this engine cannot take a state that was written down: load the tables instead")
