"""The executor of shards in this process: an exchange is a list of batches for each of them."""

from __future__ import annotations

from collections.abc import Sequence

from deltic.engine.local.storage.store import Store
from deltic.engine.shards.building import build
from deltic.engine.shards.evolution import ShardEvolution
from deltic.engine.shards.executor import Begun, Built, Executed, Host
from deltic.engine.shards.group import ShardGroup
from deltic.engine.shards.placed_program import PlacedProgram
from deltic.engine.shards.shard import Shard


class ProcessExecutor:
    """Has its shards in memory; see `Executor`."""

    def __init__(self, placed: PlacedProgram, host: Host | None = None) -> None:
        self.placed, self.shards = placed, placed.empty()

    def reset(self, placed: PlacedProgram) -> None:
        self.take(placed, placed.empty())

    def take(self, placed: PlacedProgram, shards: Sequence[Shard]) -> None:
        self.placed, self.shards = placed, list(shards)

    def stores(self) -> list[Store]:
        return [shard.store for shard in self.shards]

    def execute(self, epoch: Begun) -> Executed:
        return run_in_process(self.placed, self.shards, epoch)

    def build(self, placed: PlacedProgram, evolution: ShardEvolution, epoch: int) -> Built:
        shards, result = build(placed, evolution, self.stores(), [shard.learned() for shard in self.shards])
        version = placed.version(epoch, [shard.store for shard in shards])
        return Built(result, version, lambda: self.take(placed, shards))

    def compact(self) -> bool:
        return False

    @property
    def tasks(self) -> None:
        return None

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for store in self.stores())

    @property
    def resident(self) -> int:
        return self.nbytes

    def discard(self) -> None:
        pass


def run_in_process(placed: PlacedProgram, shards: Sequence[Shard], epoch: Begun) -> Executed:
    """Run an epoch of shards in this process; after any exception their rows are as before."""
    group = ShardGroup(placed, shards)
    result = group.run(epoch.sent(placed, epoch.changes), epoch.conflicts)
    changed = {name: group.changed_rows(name) for name in placed.program.tables.values()}
    version = group.end(epoch.number, epoch.before)
    return Executed(version, result, changed.__getitem__, group.keep, group.roll_back, placed.shrunk(group.stores))
