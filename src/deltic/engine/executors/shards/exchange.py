"""The rows that shards exchange: values with weights, their destinations and, between rounds, iterations.

Ids of texts, and layouts, belong to one shard. So the sending shard unpacks rows, and the receiving one packs them, and
translates ids. Rows from elsewhere are tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from deltic.engine.batches import TableBatch
from deltic.engine.executors.shards.encoded_rows import ITERATION, EncodedRows, Rows
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.plan import Key
from deltic.engine.executors.shards.plan_steps import Iterate
from deltic.engine.recursion.pending import RoundId
from deltic.engine.storage.arrow import Encoded, encode_batch
from deltic.engine.storage.columns import Column, concatenated
from deltic.engine.storage.interner import Interner
from deltic.engine.storage.run import NO_TIMES, Times, Weights
from deltic.engine.storage.state import State
from deltic.values.hashing import xxhash64

Inbox = Mapping[str, Sequence[Rows]]
"""Batches by target relation."""
Mail = dict[int, dict[str, list[Rows]]]
"""The messages to each shard, by target relation."""


class Received(NamedTuple):
    """Received rows, encoded as values of the receiving shard, with weights and possibly iterations."""

    columns: Sequence[Column]
    weights: Weights
    times: Times

    @classmethod
    def of(cls, name: str, rows: Rows, state: State, interner: Interner) -> Received:
        """Encode rows that were sent to a placed relation with this state."""
        if isinstance(rows, EncodedRows):
            return cls(rows.columns_for(interner), rows.weights, rows.times)
        times = NO_TIMES
        if ITERATION in rows.column_names:
            times, rows = rows.column(ITERATION).to_numpy(), rows.drop_columns([ITERATION])
        return cls(*encode_batch(name, TableBatch(rows), state, interner), times)


def shards_of(table: Rows, columns: Sequence[int], count: int) -> npt.NDArray[np.int64]:
    """Return the shard of each row, int64[n]: xxhash64, as in Spark, of these columns modulo `count`."""
    given = isinstance(table, EncodedRows)
    hashes = table.hashes(columns) if given else xxhash64([table.column(c) for c in columns], table.num_rows)
    return hashes.view(np.int64) % np.int64(count)


def messages_of(target: str, rows: Rows, key: Key, count: int) -> Iterator[Message]:
    """Yield rows for a placed relation as messages to the shards of their keys; to all shards without a key."""
    if key is None:
        yield from (Message.of(target, shard, rows) for shard in range(count))
    elif count == 1:
        yield Message.of(target, 0, rows)
    else:
        shards = shards_of(rows, key, count)
        if len(shards) and (shards == shards[0]).all():
            yield Message.of(target, int(shards[0]), rows)
            return
        order = np.argsort(shards, kind="stable")
        ends = np.cumsum(np.bincount(shards, minlength=count))
        sorted_rows = rows.take(order)
        for shard, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if end > start:
                yield Message.of(target, shard, sorted_rows.slice(start, end - start))


def mail_of(sent: Iterable[Message]) -> Mail:
    """Return messages by shard and placed relation."""
    mail: Mail = defaultdict(lambda: defaultdict(list))
    for message in sent:
        mail[message.shard][message.target].append(message.given_rows)
    return mail


def waiting_in(step: Iterate, messages: Iterable[Message]) -> tuple[RoundId | None, int]:
    """Return the first round of the derivations in these messages, and their number."""
    times = [(message.target, message.rows.column(ITERATION)) for message in messages]
    level_of = {name: level for level, names in enumerate(step.levels) for name in names}
    turns = (RoundId(pc.min(each).as_py(), level_of[target]) for target, each in times if len(each))
    return min(turns, default=None), sum(len(each) for _, each in times)


def joined(batches: Sequence[Encoded]) -> Encoded:
    """Concatenate batches of one table."""
    if len(batches) == 1:
        return batches[0]
    columns = [concatenated(parts) for parts in zip(*(columns for columns, _ in batches), strict=True)]
    return columns, np.concatenate([weights for _, weights in batches])
