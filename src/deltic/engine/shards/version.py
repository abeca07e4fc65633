"""The tables and views of all shards as of one epoch: each row is on one shard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.engine.local.storage.codec import nullary
from deltic.engine.local.version import LocalVersion
from deltic.engine.version import Version


class ShardsVersion(Version):
    """The versions of the shards, one for each, as one."""

    def __init__(self, epoch: int, shards: Sequence[LocalVersion]) -> None:
        self.epoch, self.shards = epoch, shards

    def read(
        self, name: str, *, table: bool = False, counted: bool = False, columns: Sequence[str] | None = None
    ) -> pa.Table:
        return self._of_all(lambda shard: shard.read(name, table=table, counted=counted, columns=columns))

    def part(self, name: str, number: int, parts: int, *, counted: bool = False) -> pa.Table:
        """One of several equal parts of the rows: that of each shard; see `LocalVersion.part`."""
        return self._of_all(lambda shard: shard.part(name, number, parts, counted=counted))

    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        return self._of_all(lambda shard: shard.lookup(name, key, counted=counted))

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        return self._of_all(lambda shard: shard.lookup_all(name, keys))

    def count_each(self, name: str, keys: pa.Table) -> npt.NDArray[np.int64]:
        counts = np.zeros(len(keys), np.int64)
        for shard in self.shards:
            counts += shard.count_each(name, keys)
        return counts

    def entries(self, name: str) -> int:
        return sum(shard.entries(name) for shard in self.shards)

    def count(self, name: str, *, table: bool = False) -> int:
        return sum(shard.count(name, table=table) for shard in self.shards)

    def _of_all(self, ask: Callable[[LocalVersion], pa.Table]) -> pa.Table:
        return together(ask(shard) for shard in self.shards)


def together(tables: Iterable[pa.Table]) -> pa.Table:
    """The rows of tables that have the same columns."""
    found = list(tables)
    if not found[0].num_columns:
        return nullary(sum(table.num_rows for table in found))
    return pa.concat_tables(found)
