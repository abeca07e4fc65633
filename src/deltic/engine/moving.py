"""Moving a state from one executor to another: tables go over, and the views are computed from them.

The executor that has the state stays as it is until the other one has all of it, so that a move which fails, or is
interrupted, has not been.
"""

from __future__ import annotations

from deltic.engine.executors.executor import Executor
from deltic.engine.executors.shards.extension import weights_of
from deltic.engine.result import EpochResult
from deltic.errors import DelticError, UnsupportedError
from deltic.program.memory import remembered


def move(old: Executor, new: Executor) -> EpochResult:
    """Let a new executor, which has no rows, hold what an old one holds, at its epoch: how it computed the views.

    Raises UnsupportedError where the tables do not tell all, and what computing the views raises.
    """
    if memory := remembered(old.program):
        raise UnsupportedError(f"the state cannot be moved to another engine: {memory}")
    stores, tables = old.stores, new.program.tables
    rows = {table: weights_of(stores, name) for table, name in old.program.tables.items() if table in tables}
    executed = new.run(rows, "trust")
    executed.commit()
    for view in old.program.sinks:
        if (count := new.version.count(view)) != old.version.count(view):
            raise DelticError(f"the state was not moved: {view} would have {count:,} rows")
    new.version.epoch = old.version.epoch
    return executed.result
