"""Comparison: each shard computes the difference between a source's rows, which tasks wrote for it, and its own rows.

This happens before an epoch, so only differences enter the epoch and its log. A whole table is compared as packed
words, one message at a time, with the sorted runs of the shard. So a task needs memory for the words of a shard and for
one message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from deltic.engine.comparing import Beside, compared
from deltic.engine.executors.shards.exchange import Received
from deltic.engine.executors.shards.inquiry import Inquiry
from deltic.engine.executors.shards.messages import slices
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.staged_rows import MessageBatch
from deltic.engine.files.files import Files
from deltic.engine.keyed import Keyed, key_of
from deltic.engine.storage.arrow import make_room, packed
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.codec import decode_rows
from deltic.engine.storage.run import Run, plain
from deltic.program.definitions import Table


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
        shard.fit()
        batch = CountChanges()
        for received in self._received(shard):
            words, weights = packed(state, received.columns, received.weights)
            batch.add_run(Run(words, weights=plain(weights)))
        batch.add_run(state.whole().negated())
        words, weights = batch.total() or state.no_rows()
        for part in slices(len(weights)):
            yield decode_rows(state.relation.schema, state.layout, words[:, part], interner, weights[part])

    def _received(self, shard: Shard) -> Iterator[Received]:
        state, interner = shard.states[self.name], shard.store.interner
        return (Received.of(self.name, rows, state, interner) for rows in self.rows.parts())
