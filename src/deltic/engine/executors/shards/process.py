"""Shards in this process, and the contract of all that hold shards: they store these, and run epochs of their steps.

What must hold, in addition to the contract of executors:

* One epoch at a time is between `execute` and its end; `shards` and `stores` show its changes.
* The steps, and so the rows and counts of an epoch, are the same wherever shards are. What differs is how a step gets
  its messages, and where runs are stored. Here an exchange is a list of batches for each shard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.executor import Executed, Host, StateHolder, nothing
from deltic.engine.executors.forgetting import Forget
from deltic.engine.executors.shards.building import build
from deltic.engine.executors.shards.evolution import ShardEvolution
from deltic.engine.executors.shards.group import ShardGroup
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.keyed import plain
from deltic.engine.result import Phases
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.store import Store


@dataclass(frozen=True)
class Begun:
    """The input of an epoch: changes of tables after a version, and what to forget. The first one has the constants."""

    changes: Mapping[str, Changed]
    conflicts: Conflicts
    before: StateVersion
    is_first: bool
    forget: Forget | None = None

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


class ProcessShards(StateHolder):
    """The shards of a placed program, with the rows of the last epoch, in the memory of this process."""

    def __init__(self, placed: PlacedProgram, host: Host | None = None) -> None:
        self.take(placed, placed.empty())

    @property
    def shards(self) -> Sequence[Shard]:
        """The shards, in this process."""
        return self._shards

    def stores(self) -> list[Store]:
        """Return the stores of all shards, for reading."""
        return [shard.store for shard in self.shards]

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for store in self.stores())

    def reset(self, placed: PlacedProgram) -> None:
        """Replace the shards by those of a program, without rows."""
        self.take(placed, placed.empty())

    def take(self, placed: PlacedProgram, shards: Sequence[Shard]) -> None:
        """Replace the shards by these shards of a program, with their rows."""
        self.placed, self._shards = placed, shards

    def execute(self, epoch: Begun) -> ShardsExecuted:
        """Run an epoch. Raises the errors of its changes and steps; then the rows are as before."""
        return self.run_here(epoch)

    def build(self, placed: PlacedProgram, evolution: ShardEvolution, number: int) -> ShardsExecuted:
        """Compute what another program needs and lacks, from the present rows, as the version of this epoch."""
        shards, result = build(placed, evolution, self.stores(), [shard.histories.written() for shard in self.shards])
        version = placed.version(number, [shard.store for shard in shards])
        return ShardsExecuted(version, result, partial(self.take, placed, shards), nothing)

    def run_here(self, epoch: Begun) -> ShardsExecuted:
        """Run an epoch in this process; see `execute`."""
        placed, group, phases = self.placed, ShardGroup(self.placed, self.shards), Phases()
        result = group.run(epoch.sent(placed, epoch.changes), epoch.conflicts, epoch.forget)
        phases.end("evaluation")
        tables = {table: group.changed_rows(placed.program.tables[table]) for table in epoch.changes}
        version = group.end(epoch.before)
        phases.end("version")
        made = replace(result, tables=tables, phases=phases.seconds)
        return ShardsExecuted(version, made, group.keep, group.roll_back, placed.shrunk(group.stores))


MakeHolder = Callable[[PlacedProgram, Host], ProcessShards]
"""Makes shards, without rows, for an engine."""
