"""Comparison: each shard finds what rows of a source, which tasks have written for it, amount to beside its own.

Before an epoch: only what differs enters it, and its log. All of a table is compared as packed words, one letter after
the other, with the sorted runs of the shard, so that a task has memory for the words of a shard, and for one letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from deltic.engine.comparing import Beside, compared
from deltic.engine.files.files import Files, files_at
from deltic.engine.keyed import Keyed, key_of
from deltic.engine.local.storage.arrow import make_room, packed
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.codec import decode_rows
from deltic.engine.local.storage.run import Run, plain
from deltic.engine.local.version import LocalVersion
from deltic.engine.shards.exchange import Received
from deltic.engine.shards.letters import Letter, slices
from deltic.engine.shards.options import Options
from deltic.engine.shards.plan import ShardPlan
from deltic.engine.shards.posted import Lettered, Posting
from deltic.engine.shards.shard import Shard
from deltic.engine.shards.tasks import opened
from deltic.program.definitions import Table


@dataclass(frozen=True)
class Comparison:
    """The task of one shard, from the state with this description: its rows of a relation, a table, beside others.

    What differs is written by `posting`.
    """

    plan: ShardPlan
    options: Options
    directory: str
    number: int
    state: str | None
    name: str
    rows: Lettered
    """Those for this shard alone."""
    beside: Beside
    posting: Posting

    def __call__(self) -> Iterator[Letter]:
        """The letters with what comes and goes."""
        return self.posting.of(self._parts)

    def _parts(self, written: Files) -> Iterator[tuple[pa.Table, None]]:
        files = files_at(self.directory)
        shard = opened(self.number, self.plan, self.options, files, self.state, ())
        found = self._all(shard) if self.beside.is_whole and not key_of(self.rows) else self._some(shard)
        yield from ((rows, None) for rows in found)
        written.traffic.fetched += files.traffic.read

    def _some(self, shard: Shard) -> Iterator[pa.Table]:
        """What differs from a part of the table, or from what has the same keys."""
        definition, names = self.plan.program.relations[self.name].definition, key_of(self.rows)
        assert isinstance(definition, Table)
        version = LocalVersion(
            0, self.plan.program, {self.name: shard.states[self.name].frozen()}, shard.store.interner
        )
        yield compared(Keyed(definition.table, names), self.rows.to_arrow(), version, self.beside)

    def _all(self, shard: Shard) -> Iterator[pa.Table]:
        """What differs from all of the table; values have their places before the first row is packed."""
        state, interner = shard.states[self.name], shard.store.interner
        for received in self._received(shard):
            make_room(state, received.columns)
        shard.fit()
        batch = Batch()
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
