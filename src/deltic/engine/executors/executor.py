"""What runs the epochs of an engine and has its rows: the contract that all executors keep.

* `run` and `extend` compute an epoch, and nobody sees it before its `commit`: after an exception, `abort`, or where
  nobody ends it, the executor has the rows of before. One epoch at a time is between its beginning and its end.
* A version that an executor has given may be read while later epochs go on, and after `discard`.
* The rows of an epoch are the same for every executor. Executors differ in where rows are and how they get there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection
from deltic.engine.executors.inline.version import StateVersion
from deltic.engine.image import Image, Saved
from deltic.engine.maintenance import RelationPlan
from deltic.engine.options import EngineOptions
from deltic.engine.prepared import Prepared
from deltic.engine.protocol import Engine
from deltic.engine.result import EpochResult
from deltic.engine.size import Size
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
    """The engine that has an executor, as that sees it."""

    section: CriticalSection

    @property
    def prepared(self) -> Prepared | None:
        """The epoch that is neither committed nor aborted."""

    def inner(self, circuit: Circuit) -> Engine:
        """An engine for a recursion inside a recursion."""


class Executor(Protocol):
    """Has the rows of a circuit's program as of one version, and takes them through epochs."""

    @property
    def version(self) -> StateVersion:
        """The tables and views of the last epoch."""

    @property
    def circuit(self) -> Circuit:
        """What is kept fresh."""

    @property
    def program(self) -> Program:
        """The program of the circuit, as it is planned."""

    def run(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        """An epoch from changes of tables; raises what these and the program do."""

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed]) -> Executed:
        """An epoch that continues with another circuit, whose tables that have `rows` begin with these."""

    def image(self) -> Image:
        """The state between epochs, to be written."""

    def restored(self, saved: Saved, tables_alone: bool) -> Executor:
        """The executor that has what was written by one of this kind; this one stays as it is.

        With `tables_alone` everything else is computed from the tables. Raises UnsupportedError.
        """

    @property
    def stores(self) -> list[Store]:
        """The stores that have the relations, to be looked into."""

    def explain(self, name: str, full: bool) -> str:
        """How a view is kept fresh, on a screen, or with all that is made of it."""

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        """What is kept of a view and of all that it is derived from; nothing where the rows are on shards."""

    def forgotten(self, view: str) -> tuple[str, ...]:
        """The tables below a view of which rows have been forgotten."""

    def checks_keys(self, table: str) -> bool:
        """Whether an epoch that does not trust its changes raises SharedKeys where rows of a table have one key."""

    @property
    def tasks(self) -> TableTasks | None:
        """What tasks do for tables before an epoch; None where there are no tasks."""

    def sizes(self) -> list[Size]:
        """What is kept of each relation."""

    @property
    def nbytes(self) -> int:
        """The bytes of the state, in memory or in files."""

    @property
    def resident(self) -> int:
        """The bytes of the state in the memory of this process."""

    def compact(self) -> bool:
        """Merge what epochs have left apart in files: whether this executor has any."""

    def discard(self) -> None:
        """Let go of files, but for those that a version reads: the executor is not used any more."""


MakeExecutor = Callable[["Circuit", EngineOptions, Host], Executor]
"""Makes an executor that has no rows, for an engine. Raises UnsupportedError where it cannot run the circuit."""


def nothing() -> None:
    """How to abort an epoch that has changed nothing of what there was."""
