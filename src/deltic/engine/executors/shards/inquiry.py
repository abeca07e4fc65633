"""Queries of shards before an epoch: a task for each shard reads one table, and writes its results as changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltic.engine.executors.options import Options
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.staged_rows import StagedWriter
from deltic.engine.executors.shards.tasks import opened
from deltic.engine.files.address import files_at
from deltic.engine.files.files import Files
from deltic.engine.state_version import StateVersion


@dataclass(frozen=True)
class Inquiry(ABC):
    """The task of one shard, for the state with this description, about a table's relation.

    `posting` writes its results.
    """

    plan: ShardPlan
    options: Options
    directory: str
    number: int
    state: str | None
    name: str
    posting: StagedWriter

    def __call__(self) -> Iterator[Message]:
        """Yield messages with insertions and deletions."""
        return self.posting.of(self._parts)

    def _parts(self, written: Files) -> Iterator[tuple[pa.Table, Any]]:
        files = files_at(self.directory)
        yield from self.answer(opened(self.number, self.plan, self.options, files, self.state, ()), written)
        written.traffic.fetched += files.traffic.read

    @abstractmethod
    def answer(self, shard: Shard, written: Files) -> Iterator[tuple[pa.Table, Any]]:
        """Yield inserted and deleted rows, part by part, each with its description."""

    def _version(self, shard: Shard) -> StateVersion:
        """Return the table's version on the shard."""
        return StateVersion.of(0, self.plan.program, [shard.store], [self.name])
