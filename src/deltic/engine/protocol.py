"""The protocol of engines: an engine stores the tables and views of one circuit and applies changes to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from deltic.circuit.tables import WEIGHT as WEIGHT
from deltic.engine.conflicts import Conflicts
from deltic.engine.maintenance import RelationPlan, Size
from deltic.engine.prepared import Prepared
from deltic.engine.result import EpochResult
from deltic.engine.version import Version
from deltic.errors import UnsupportedError
from deltic.lazy import np, pa

if TYPE_CHECKING:
    import numpy.typing as npt

    from deltic.circuit.graph import Circuit
    from deltic.engine.batches import Changed
    from deltic.engine.image import Image, Saved
    from deltic.engine.table_tasks import TableTasks

NOTHING: Mapping[str, Changed] = MappingProxyType({})
"""No rows of any table."""


class Engine(Version, Protocol):
    """The interface of all engines. A batch has the columns of its table and an int64 column WEIGHT.

    An epoch is prepared, then committed or aborted. In between, reads show the state after it, and no other epoch can
    start. `epoch` is the number of the last committed one, 0 before the first, `token` the value that its caller
    passed, and `version` what other threads may read of it while further epochs are prepared.
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

    def find(self, name: str, keys: Mapping[str, list[Any]], *, table: bool = False) -> dict[tuple[Any, ...], int]:
        return self._now().find(name, keys, table=table)

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        return self._now().lookup_all(name, keys)

    def count_each(self, name: str, keys: pa.Table, *, table: bool = False) -> npt.NDArray[np.int64]:
        return self._now().count_each(name, keys, table=table)

    def entries(self, name: str) -> int:
        return self._now().entries(name)

    def count(self, name: str, *, table: bool = False) -> int:
        return self._now().count(name, table=table)

    def _now(self) -> Version:
        """Return the version to read: that of the prepared epoch, else of the last one."""
        return self.version if self._prepared is None else self._prepared.version

    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        """Compute an epoch from changes of tables.

        Raises ChangeError for a conflicting change, or a batch without the table's columns; KeyError for an unknown
        table; DelticError while another epoch is prepared. After any exception the state is as before.
        """

    def apply(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> EpochResult:
        """Prepare an epoch and commit it at once. Raises the errors of `prepare`."""
        with self.prepare(changes, conflicts, token) as epoch:
            return epoch.commit()

    def prepare_extension(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> Prepared:
        """Compute an epoch that continues with another circuit; its changes are those of the views.

        No table changes. Tables that have `rows` start with these, whatever had their names before; others that both
        circuits have keep theirs. Views that both have change by the difference; a view that is new, or has other
        columns, changes by all of its rows. Unchanged relations keep their state and cost nothing. Raises
        UnsupportedError if the engine cannot run the circuit. After any exception, and after `abort`, the engine is as
        before, with the old circuit.
        """

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> EpochResult:
        """Prepare an extension and commit it at once. Raises the errors of `prepare_extension`."""
        with self.prepare_extension(circuit, rows) as epoch:
            return epoch.commit()

    @property
    def tasks(self) -> TableTasks | None:
        """The tasks that prepare changes of tables before the next epoch; None if this process must do it."""
        return None

    def checks_keys(self, table: str) -> bool:
        """Return whether an epoch that does not trust its changes raises SharedKeys if rows of a table share a key."""
        return False

    def compact(self) -> bool:
        """Merge the runs in files that epochs left unmerged. Return whether this engine has files."""
        return False

    def sizes(self) -> list[Size]:
        """Return the sizes of each relation's arrangements; nothing if the engine does not report them."""
        return []

    def forgotten(self, view: str) -> tuple[str, ...]:
        """Return the tables below a view with forgotten rows, so that it cannot be recomputed from them."""
        return ()

    def explain(self, name: str, full: bool = False) -> str:
        """Explain how the view is maintained: on one screen, or in `full` with its circuits and all that the engine
        runs.
        """

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        """Return what is stored for a view and for all that it is derived from; nothing if the engine does not report
        it.
        """
        return ()

    def views_by_relation(self) -> Mapping[str, tuple[str, ...]]:
        """Return, for each relation of the plan, the views that it is or serves; nothing if the engine does not report
        it.
        """
        return {}

    def capture(self) -> Image:
        """Return the image of the committed state. UnsupportedError if the state only lives in the process."""
        raise UnsupportedError("this engine cannot write its state down: it lasts as long as the process")

    def restore(self, saved: Saved, tables_alone: bool = False) -> None:
        """Load the captured state of an engine for the same circuit. Raises UnsupportedError.

        Relations whose definitions have changed since are computed from their sources; with `tables_alone`, all
        relations but the tables are. After any exception the engine is as before.
        """
        raise UnsupportedError("this engine cannot take a state that was written down: load the tables instead")
