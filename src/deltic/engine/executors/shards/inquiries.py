"""Inquiries of shards before an epoch: a task for each shard reads one table, and writes its results as changes.

A comparison computes the difference between a source's rows, which tasks wrote for the shard, and its own rows, so only
differences enter the epoch and its log. A whole table is compared as packed words, one message at a time, with the
sorted runs of the shard. So a task needs memory for the words of a shard and for one message.

A settlement computes the net effect of changes by key, which tasks wrote for the shard. If a transaction changes a
table by key several times, each change applies to the result of those before it. For a table with a lateness, the
replaced rows must be known before late changes and the latest time can be. The shard has all rows of its keys, so it
does all of this for them. Its results are rows with weights, for the epoch and its log, and separately late changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from deltic.engine.comparing import Beside, compared
from deltic.engine.conflicts import Conflicts, TableError
from deltic.engine.executors.shards.exchange import Received
from deltic.engine.executors.shards.messages import DIRECT, Message, sent, slices
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.staged_rows import MessageBatch, StagedRows, StagedWriter
from deltic.engine.executors.shards.tasks import opened
from deltic.engine.files.address import files_at
from deltic.engine.files.files import Files
from deltic.engine.keyed import Keyed, LookUp, RowChange, amount, key_of
from deltic.engine.options import Options
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.arrow import make_room, packed
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.codec import decode_rows
from deltic.engine.storage.run import Run
from deltic.engine.watermark import Watermark
from deltic.program.definitions import Table

_LATE = "late"
"""The target of late changes, which only their reader takes."""


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


@dataclass(frozen=True)
class Comparison(Inquiry):
    """Compares rows with those of a shard, and returns the differences."""

    rows: MessageBatch
    """Only the messages for this shard."""
    beside: Beside

    def answer(self, shard: Shard, written: Files) -> Iterator[tuple[pa.Table, None]]:
        result = self._all(shard) if self.beside.is_whole and not key_of(self.rows) else self._some(shard)
        yield from ((rows, None) for rows in result)

    def _some(self, shard: Shard) -> Iterator[pa.Table]:
        """Yield the differences from a part of the table, or from the rows with the same keys."""
        definition, names = self.plan.program.relations[self.name].definition, key_of(self.rows)
        assert isinstance(definition, Table)
        yield compared(Keyed(definition.table, names), self.rows.to_arrow(), self._version(shard), self.beside)

    def _all(self, shard: Shard) -> Iterator[pa.Table]:
        """Yield the differences from the whole table. All values get their places before the first row is packed."""
        state, interner = shard.states[self.name], shard.store.interner
        for received in self._received(shard):
            make_room(state, received.columns)
        shard.store.fit()
        batch = CountChanges()
        for received in self._received(shard):
            words, weights = packed(state, received.columns, received.weights)
            batch.add_run(Run(words, weights=weights))
        batch.add_run(state.whole().negated())
        words, weights = batch.total() or state.layout.no_rows()
        for part in slices(len(weights)):
            yield decode_rows(state.relation.schema, state.layout, words[:, part], interner, weights[part])

    def _received(self, shard: Shard) -> Iterator[Received]:
        state, interner = shard.states[self.name], shard.store.interner
        return (Received.of(self.name, rows, state, interner) for rows in self.rows.parts())


@dataclass(frozen=True)
class Timed:
    """A shard's report about time: the latest time, the messages with late changes, and their number."""

    latest: int | None
    late: Sequence[Message]
    rows: int


class Settled(StagedRows):
    """Rows with the net weights of changes, without those that are late."""

    @property
    def latest(self) -> int | None:
        """The latest time of the inserted rows; None if none has a time."""
        return max((one.latest for one in self._timed if one.latest is not None), default=None)

    @property
    def late(self) -> MessageBatch:
        """The changes that are too late. This process only has their file names and counts."""
        return _Late(self, [message for one in self._timed for message in one.late], sum(o.rows for o in self._timed))

    @property
    def _timed(self) -> list[Timed]:
        return [one for one in self.report.about if isinstance(one, Timed)]


class _Late(MessageBatch):
    """The late rows of changes. Their files exist as long as the changes."""

    def __init__(self, of: Settled, messages: Sequence[Message], rows: int) -> None:
        super().__init__(of.files, of.split, messages, rows, of.nothing)
        self._of = of


@dataclass(frozen=True)
class Settlement(Inquiry):
    """Applies changes of a table, one after the other, on the shard of their keys, and returns the net effect."""

    table: Keyed
    changes: Sequence[RowChange]
    """Only the changes for this shard."""
    nothing: pa.Table
    conflicts: Conflicts
    watermark: Watermark | None

    def answer(self, shard: Shard, written: Files) -> Iterator[tuple[pa.Table, Any]]:
        rows = pa.concat_tables(self._amounts(partial(self._version(shard).lookup_all, self.table.name)))
        if self.watermark is None:
            yield rows, None
        else:
            late = self.watermark.late(rows)
            gone, kept = rows.filter(pa.array(late)), rows.filter(pa.array(~late))
            messages = list(sent(written, [Message.of(_LATE, self.number, gone)] if len(gone) else [], 0, DIRECT))
            yield kept, Timed(self.watermark.latest_of(kept), messages, len(gone))

    def _amounts(self, look_up: LookUp) -> list[pa.Table]:
        """Return the net effect of each change, applied after those before it."""
        are_late = None if self.watermark is None else self.watermark.before
        result = [self.nothing]
        for turn, change in enumerate(self.changes):
            try:
                for part in change.parts(self.table):
                    result.append(amount(self.table, part, result, look_up, self.conflicts, are_late))
            except TableError as error:
                error.turn = turn
                raise
        return result
