"""The contract of all executors: an executor stores the rows of an engine, and runs its epochs.

* `run` and `extend` compute an epoch, which is invisible before its `commit`. After an exception, after `abort`, or if
  the epoch is never ended, the executor has the rows of before. Only one epoch at a time is in progress.
* A version that an executor returned may be read while later epochs go on, and after `discard`.
* The rows of an epoch are the same for every executor. Executors differ in where rows are stored and how they move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection
from deltic.engine.image import Image, Saved
from deltic.engine.maintenance import RelationPlan, Size
from deltic.engine.options import EngineOptions
from deltic.engine.prepared import Prepared
from deltic.engine.protocol import Engine
from deltic.engine.result import EpochResult
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.store import Store

if TYPE_CHECKING:
    from deltic.circuit.graph import Circuit
    from deltic.engine.table_tasks import TableTasks
    from deltic.program.program import Program


@dataclass(frozen=True)
class Executed:
    """An epoch that was run, to be committed or aborted."""

    version: StateVersion
    result: EpochResult
    commit: Callable[[], None]
    abort: Callable[[], None]


class Host(Protocol):
    """The engine of an executor, as the executor sees it."""

    section: CriticalSection

    @property
    def prepared(self) -> Prepared | None:
        """The epoch that is neither committed nor aborted."""

    def inner(self, circuit: Circuit) -> Engine:
        """Return an engine for a recursion inside a recursion."""


class StateHolder(Protocol):
    """Has the state of an engine: by default in the memory of this process, without files and tasks."""

    @property
    def nbytes(self) -> int:
        """The size of the state, in memory or in files, in bytes."""

    @property
    def resident(self) -> int:
        """The size of the state in the memory of this process, in bytes."""
        return self.nbytes

    @property
    def tasks(self) -> TableTasks | None:
        """The tasks that prepare changes of tables before an epoch; None if there are no tasks."""
        return None

    def compact(self) -> bool:
        """Merge the runs in files that epochs left unmerged. Return whether there are files."""
        return False

    def discard(self) -> None:
        """Release all files that no version reads. The state is not used any more."""
        return


class Executor(StateHolder, Protocol):
    """Stores the rows of a circuit's program as of one version, and runs epochs."""

    @property
    def version(self) -> StateVersion:
        """The tables and views of the last epoch."""

    @property
    def circuit(self) -> Circuit:
        """The circuit that is maintained."""

    @property
    def program(self) -> Program:
        """The program of the circuit, as planned."""

    def run(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        """Run an epoch from changes of tables. Raises the errors of the changes and of the program."""

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed]) -> Executed:
        """Run an epoch that continues with another circuit; its tables in `rows` start with these rows."""

    def image(self) -> Image:
        """Return the image of the state between epochs."""

    def restored(self, saved: Saved, tables_alone: bool) -> Executor:
        """Return an executor with the state that one of this kind wrote. This executor does not change.

        With `tables_alone`, everything else is computed from the tables. Raises UnsupportedError.
        """

    @property
    def stores(self) -> list[Store]:
        """Return the stores of the relations, for reading."""

    def explain(self, name: str, full: bool) -> str:
        """Explain how a view is maintained: on one screen, or in `full`."""

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        """Return what is stored for a view and for all that it is derived from."""

    def forgotten(self, view: str) -> tuple[str, ...]:
        """Return the tables below a view of which rows have been forgotten."""

    def checks_keys(self, table: str) -> bool:
        """Return whether an epoch with checked changes raises SharedKeys if rows of the table share a key."""

    def sizes(self) -> list[Size]:
        """Return the sizes of each relation's arrangements."""


MakeExecutor = Callable[["Circuit", EngineOptions, Host], Executor]
"""Makes an executor without rows for an engine. Raises UnsupportedError if it cannot run the circuit."""


def nothing() -> None:
    """Abort an epoch that has changed nothing."""
