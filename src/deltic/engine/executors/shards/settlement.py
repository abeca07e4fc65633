"""Settlement: each shard finds what changes of a table by key, which tasks have written for it, amount to.

Before an epoch: where a transaction changes a table by key several times, each change counts for what those before it
have made; and of a table with a lateness it has to be known what a change replaces before it is told which are late,
and what the latest time is. The shard has all rows of its keys, and so does all of that for them. What it finds are
rows with weights, for the epoch and its log, and the late ones apart.
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
"""The receiver of late changes: only a reader that names it takes them."""


@dataclass(frozen=True)
class Timed:
    """What a shard says about its late changes: the messages that have them, and how many there are."""

    latest: int | None
    late: Sequence[Message]
    rows: int


class Settled(StagedRows):
    """Rows with weights that changes amount to, without those that are late."""

    @property
    def latest(self) -> int | None:
        """The latest time of the rows that come; None where none has one."""
        return max((one.latest for one in self._timed if one.latest is not None), default=None)

    @property
    def late(self) -> MessageBatch:
        """The changes that are too late, of which this process has names and counts."""
        return _Late(self, [message for one in self._timed for message in one.late], sum(o.rows for o in self._timed))

    @property
    def _timed(self) -> list[Timed]:
        return [one for one in self.report.about if isinstance(one, Timed)]


class _Late(MessageBatch):
    """The late ones of changes, whose files are there as long as these."""

    def __init__(self, of: Settled, messages: Sequence[Message], rows: int) -> None:
        super().__init__(of.files, of.split, messages, rows, of.nothing)
        self._of = of


@dataclass(frozen=True)
class Settlement(Inquiry):
    """Changes of a table, one after the other, on the shard of their keys: it finds what they amount to."""

    table: Keyed
    changes: Sequence[RowChange]
    """Those for this shard alone."""
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
        """What each change amounts to, behind those before it."""
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
