"""The rows of SUBSCRIBE: those of a view as of an epoch, then its changes by epoch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltic.circuit.tables import WEIGHT

if TYPE_CHECKING:
    from deltic.pipeline.epochs.history import EpochChange
    from deltic.server.postgres.outcomes import FollowedView


async def changes(following: FollowedView) -> AsyncIterator[pa.Table]:
    """The first rows and then each change as it arrives, without end. Raises CutOffError."""
    yield _begun(following)
    async for change in following.follower:
        yield _changed(change)


def arrived(following: FollowedView, is_first: bool) -> pa.Table:
    """The changes that have arrived and were not returned yet. Raises CutOffError."""
    begun = _begun(following)
    parts = [_changed(change) for change in following.follower]
    return pa.concat_tables([begun if is_first else begun.slice(0, 0), *parts])


def _begun(following: FollowedView) -> pa.Table:
    return _with(following.epoch, pa.array(np.ones(len(following.rows), np.int64)), following.rows)


def _changed(change: EpochChange) -> pa.Table:
    rows = change.to_arrow()
    return _with(change.epoch, rows.column(WEIGHT), rows.drop_columns(WEIGHT))


def _with(epoch: int, weights: pa.Array | pa.ChunkedArray, rows: pa.Table) -> pa.Table:
    columns = [pa.array(np.full(len(rows), epoch, np.int64)), weights, *rows.columns]
    return pa.table(columns, names=["epoch", "weight", *rows.column_names])
