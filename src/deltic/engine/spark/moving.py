"""Moving a state between the local engine and shards: tables go over, and the views are computed from them.

The engine that has the state stays as it is until the other one has all of it, so that a move which fails, or is
interrupted, has not been.
"""

from __future__ import annotations

from collections.abc import Iterable

from deltic.engine.local.engine import LocalEngine
from deltic.engine.local.storage.store import Store
from deltic.engine.result import EpochResult
from deltic.engine.shards.engine import ShardedEngine
from deltic.engine.shards.extension import weights_of
from deltic.errors import DelticError, UnsupportedError
from deltic.program.memory import remembered

Movable = LocalEngine | ShardedEngine


def move(old: Movable, new: Movable) -> EpochResult:
    """Let a new engine, which has no rows, hold what an old one holds, at its epoch: what it did to compute the views.

    Raises UnsupportedError where the tables do not tell all, and what computing the views raises.
    """
    if memory := remembered(old.program):
        raise UnsupportedError(f"the state cannot be moved to another engine: {memory}")
    stores = list(_stores(old))
    tables = {table: weights_of(stores, name) for table, name in old.program.tables.items()}
    result = new.prepare({t: rows for t, rows in tables.items() if t in new.program.tables}, "trust").commit()
    for view in old.program.sinks:
        if new.count(view) != old.count(view):
            raise DelticError(f"the state was not moved: {view} would have {new.count(view):,} rows")
    new.epoch = new.version.epoch = old.epoch
    new.token = old.token
    return result


def _stores(engine: Movable) -> Iterable[Store]:
    return [engine.store] if isinstance(engine, LocalEngine) else [shard.store for shard in engine.shards]
