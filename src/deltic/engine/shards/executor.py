"""What runs the steps of shards, and where their rows are: the contract that all executors keep.

An executor has the shards of one placed program, with the rows of the last epoch. What must hold:

* `execute` and `build` compute an epoch, and nobody sees it: until `commit`, or `take`, and after an exception,
  `abort`, or where nobody takes it, the shards have the rows of before.
* A version that an executor has given may be read while later epochs go on, and after `discard`.
* One epoch at a time is between `execute` and its end; `shards` and `stores` show it as the shards do.
* The steps, and so the rows and counts of an epoch, are the same for every executor. Executors differ in how a step
  gets its messages, and in where runs are, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection
from deltic.engine.keyed import plain
from deltic.engine.local.storage.store import Store
from deltic.engine.prepared import Prepared
from deltic.engine.result import EpochResult
from deltic.engine.shards.evolution import ShardEvolution
from deltic.engine.shards.messages import Message
from deltic.engine.shards.placed_program import PlacedProgram
from deltic.engine.shards.shard import Shard
from deltic.engine.shards.version import ShardsVersion

if TYPE_CHECKING:
    from deltic.engine.table_tasks import TableTasks


@dataclass(frozen=True)
class Begun:
    """What an epoch begins with: changes of tables, after a version; the first one has constants, too."""

    changes: Mapping[str, Changed]
    conflicts: Conflicts
    before: ShardsVersion
    is_first: bool

    @property
    def number(self) -> int:
        """The number of the epoch."""
        return self.before.epoch + 1

    def sent(self, placed: PlacedProgram, changes: Mapping[str, Changed]) -> Iterator[Message]:
        """Some of the changes, and the rows of constants in the first epoch, where they belong."""
        yield from placed.changed({t: plain(t, batch, self.before, self.conflicts) for t, batch in changes.items()})
        if self.is_first:
            yield from placed.constants(placed.program.relations)


@dataclass(frozen=True)
class Executed:
    """An epoch that was run, to be committed or aborted; `rows_in` tells how many rows of a table changed."""

    version: ShardsVersion
    result: EpochResult
    rows_in: Callable[[str], int]
    commit: Callable[[], None]
    abort: Callable[[], None]
    shrunk: frozenset[str] = frozenset()
    """The relations of recursions in rounds for which one task has much room then."""


@dataclass(frozen=True)
class Built:
    """A program whose relations are there: how its views differ from those of before, and its version."""

    result: EpochResult
    version: ShardsVersion
    take: Callable[[], None]
    """Lets the executor have it."""


class Host(Protocol):
    """The engine that has an executor, as that sees it."""

    section: CriticalSection

    @property
    def prepared(self) -> Prepared | None:
        """The epoch that is neither committed nor aborted."""


class Executor(Protocol):
    """Has the shards of a placed program, and takes them through epochs."""

    placed: PlacedProgram

    def reset(self, placed: PlacedProgram) -> None:
        """Have the shards of a program, without rows."""

    def take(self, placed: PlacedProgram, shards: Sequence[Shard]) -> None:
        """Have these shards of a program, with their rows."""

    @property
    def shards(self) -> Sequence[Shard]:
        """The shards, in this process."""

    def stores(self) -> list[Store]:
        """The stores of all shards, to be looked into."""

    def execute(self, epoch: Begun) -> Executed:
        """Run an epoch. Raises what its changes and its steps do."""

    def build(self, placed: PlacedProgram, evolution: ShardEvolution, epoch: int) -> Built:
        """Compute what another program wants and is not there, from what is: its version is that of an epoch."""

    def compact(self) -> bool:
        """Merge what epochs have left apart in files: whether this executor has any."""

    @property
    def tasks(self) -> TableTasks | None:
        """What tasks do for tables before an epoch; None where there are no tasks."""

    @property
    def nbytes(self) -> int:
        """The bytes of the state, in memory or in files."""

    @property
    def resident(self) -> int:
        """The bytes of the state in the memory of this process."""

    def discard(self) -> None:
        """Let go of files: the executor is not used any more."""


MakeExecutor = Callable[[PlacedProgram, Host], Executor]
"""Makes an executor that has no rows, for an engine."""
