"""What runs the steps of shards, and where their rows are: the contract of all that has shards.

It has the shards of one placed program, with the rows of the last epoch. What must hold, beside the contract of
executors:

* One epoch at a time is between `execute` and its end; `shards` and `stores` show it as the shards do.
* The steps, and so the rows and counts of an epoch, are the same for all. They differ in how a step gets its messages,
  and in where runs are, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.executor import Executed, Host
from deltic.engine.executors.inline.version import StateVersion
from deltic.engine.executors.shards.evolution import ShardEvolution
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.keyed import plain
from deltic.engine.storage.store import Store

if TYPE_CHECKING:
    from deltic.engine.table_tasks import TableTasks


@dataclass(frozen=True)
class Begun:
    """What an epoch begins with: changes of tables, after a version; the first one has constants, too."""

    changes: Mapping[str, Changed]
    conflicts: Conflicts
    before: StateVersion
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
class ShardsExecuted(Executed):
    """An epoch of shards that was run, or of shards of another program: then `commit` lets that be there."""

    shrunk: frozenset[str] = frozenset()
    """The relations of recursions in rounds for which one task has much room then."""


class ShardHolder(Protocol):
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

    def execute(self, epoch: Begun) -> ShardsExecuted:
        """Run an epoch. Raises what its changes and its steps do."""

    def build(self, placed: PlacedProgram, evolution: ShardEvolution, epoch: int) -> ShardsExecuted:
        """Compute what another program wants and is not there, from what is: its version is that of an epoch."""

    def compact(self) -> bool:
        """Merge what epochs have left apart in files: whether this one has any."""

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
        """Let go of files: it is not used any more."""


MakeHolder = Callable[[PlacedProgram, Host], ShardHolder]
"""Makes what has shards, without rows, for an engine."""
