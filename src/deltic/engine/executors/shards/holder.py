"""The contract of holders of shards: a holder stores the shards of a placed program, and runs their steps.

It has the shards of one placed program, with the rows of the last epoch. What must hold, in addition to the contract of
executors:

* One epoch at a time is between `execute` and its end; `shards` and `stores` show its changes.
* The steps, and so the rows and counts of an epoch, are the same for all holders. They only differ in how a step gets
  its messages, and in where runs are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.executor import Executed, Host, StateHolder
from deltic.engine.executors.shards.evolution import ShardEvolution
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.keyed import plain
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.store import Store


@dataclass(frozen=True)
class Begun:
    """The input of an epoch: changes of tables after a version. The first epoch also has the constants."""

    changes: Mapping[str, Changed]
    conflicts: Conflicts
    before: StateVersion
    is_first: bool

    @property
    def number(self) -> int:
        """The number of the epoch."""
        return self.before.epoch + 1

    def sent(self, placed: PlacedProgram, changes: Mapping[str, Changed]) -> Iterator[Message]:
        """Yield messages with some of the changes and, in the first epoch, the rows of constants."""
        yield from placed.changed({t: plain(t, batch, self.before, self.conflicts) for t, batch in changes.items()})
        if self.is_first:
            yield from placed.constants(placed.program.relations)


@dataclass(frozen=True)
class ShardsExecuted(Executed):
    """An epoch of shards that was run, or of shards of another program, which `commit` then installs."""

    shrunk: frozenset[str] = frozenset()
    """The relations of recursions in rounds that would now fit one task well."""


class ShardHolder(StateHolder, Protocol):
    """Stores the shards of a placed program, and runs their epochs."""

    placed: PlacedProgram

    def reset(self, placed: PlacedProgram) -> None:
        """Replace the shards by those of a program, without rows."""

    def take(self, placed: PlacedProgram, shards: Sequence[Shard]) -> None:
        """Replace the shards by these shards of a program, with their rows."""

    @property
    def shards(self) -> Sequence[Shard]:
        """The shards, in this process."""

    def stores(self) -> list[Store]:
        """Return the stores of all shards, for reading."""

    def execute(self, epoch: Begun) -> ShardsExecuted:
        """Run an epoch. Raises the errors of its changes and steps."""

    def build(self, placed: PlacedProgram, evolution: ShardEvolution, epoch: int) -> ShardsExecuted:
        """Compute what another program needs and lacks, from the present rows, as the version of this epoch."""


MakeHolder = Callable[[PlacedProgram, Host], ShardHolder]
"""Makes a holder of shards, without rows, for an engine."""
