"""Settlement: each shard computes the net effect of a table's changes by key, which tasks wrote for it.

This happens before an epoch. If a transaction changes a table by key several times, each change applies to the result
of those before it. For a table with a lateness, the replaced rows must be known before late changes and the latest
time can be. The shard has all rows of its keys, so it does all of this for them. Its results are rows with weights,
for the epoch and its log, and separately the late changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from deltic.engine.conflicts import Conflicts, TableError
from deltic.engine.executors.shards.inquiry import Inquiry
from deltic.engine.executors.shards.messages import DIRECT, Message, sent
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.staged_rows import MessageBatch, StagedRows
from deltic.engine.files.files import Files
from deltic.engine.keyed import Keyed, LookUp, RowChange, amount
from deltic.engine.watermark import Watermark

_LATE = "late"
"""The target of late changes, which only their reader takes."""


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
