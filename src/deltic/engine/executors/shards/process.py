"""Shards in this process: an exchange is a list of batches for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from deltic.engine.executors.executor import Host, StateHolder, nothing
from deltic.engine.executors.shards.building import build
from deltic.engine.executors.shards.evolution import ShardEvolution
from deltic.engine.executors.shards.group import ShardGroup
from deltic.engine.executors.shards.holder import Begun, ShardHolder, ShardsExecuted
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.phases import Phases
from deltic.engine.storage.store import Store


class ProcessShards(StateHolder):
    """Has its shards in the memory of this process; see `ShardHolder`."""

    def __init__(self, placed: PlacedProgram, host: Host | None = None) -> None:
        self.placed, self.shards = placed, placed.empty()

    def reset(self, placed: PlacedProgram) -> None:
        self.take(placed, placed.empty())

    def take(self, placed: PlacedProgram, shards: Sequence[Shard]) -> None:
        self.placed, self.shards = placed, list(shards)

    def stores(self) -> list[Store]:
        return [shard.store for shard in self.shards]

    def execute(self, epoch: Begun) -> ShardsExecuted:
        return run_in_process(self.placed, self.shards, epoch)

    def build(self, placed: PlacedProgram, evolution: ShardEvolution, epoch: int) -> ShardsExecuted:
        return build_in_process(self, placed, evolution, epoch)

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for store in self.stores())


def run_in_process(placed: PlacedProgram, shards: Sequence[Shard], epoch: Begun) -> ShardsExecuted:
    """Run an epoch of shards in this process. After any exception their rows are as before."""
    group, phases = ShardGroup(placed, shards), Phases()
    result = group.run(epoch.sent(placed, epoch.changes), epoch.conflicts)
    phases.end("evaluation")
    tables = {table: group.changed_rows(placed.program.tables[table]) for table in epoch.changes}
    version = group.end(epoch.before)
    phases.end("version")
    made = replace(result, tables=tables, phases=phases.seconds)
    return ShardsExecuted(version, made, group.keep, group.roll_back, placed.shrunk(group.stores))


def build_in_process(
    holder: ShardHolder, placed: PlacedProgram, evolution: ShardEvolution, epoch: int
) -> ShardsExecuted:
    """Build in this process what another program needs from a holder, which installs it at the commit."""
    shards, result = build(placed, evolution, holder.stores(), [shard.histories.written() for shard in holder.shards])
    version = placed.version(epoch, [shard.store for shard in shards])
    return ShardsExecuted(version, result, partial(holder.take, placed, shards), nothing)
