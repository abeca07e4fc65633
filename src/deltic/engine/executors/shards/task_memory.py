"""Whether one task has room for a recursion that preserves no key: then it is on one shard, and otherwise in rounds.

What a recursion will derive is known when it has derived it. So it begins on one shard, which is quickest, and is
watched as it grows: where it has more bytes than a task is to hold, the epoch is given up, and begins again in rounds.
It comes back to one shard when it has become so much smaller that it will not soon grow out of it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from deltic.engine.executors.shards.plan import Iterate, Recur, ShardPlan
from deltic.engine.operators.query import Environment, VisitLimit
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store
from deltic.errors import DelticError

# The bytes that a visited row may add to a recursion: its derivation in some column orders, with what waits for it.
_ROW = 64
# The part of a task's memory that a recursion has to fit into to come back to one shard.
_BACK = 0.25
# What a job costs whatever it does, in seconds, as measured on two cores.
_JOB = 1.0


class Outgrown(DelticError):
    """A recursion has more bytes on its shard than a task is to hold; the epoch is given up, and begins in rounds."""

    def __init__(self, relations: tuple[str, ...], held: int, limit: int) -> None:
        self.relations, self.held, self.limit = relations, held, limit
        super().__init__(f"{', '.join(relations)}: {held:,} bytes on one shard, and a task is to hold {limit:,}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Outgrown, (self.relations, self.held, self.limit)


@contextmanager
def watched(step: Recur, plan: ShardPlan, environment: Environment, limit: int) -> Iterator[None]:
    """Watch a recursion grow in this block: raises Outgrown where it has more than `limit` bytes on its shard."""

    def measure() -> None:
        held = bytes_on(environment.states, plan, step)
        if held > limit:
            raise Outgrown(step.stratum.relations, held, limit)
        environment.alarm = VisitLimit(environment.visits.rows + (limit - held) // _ROW + 1, measure)

    measure()
    try:
        yield
        measure()
    finally:
        environment.alarm = VisitLimit()


def bytes_on(states: Mapping[str, State], plan: ShardPlan, step: Recur | Iterate) -> int:
    """The bytes of a recursion on a shard, with the relations that it reads there."""
    return sum(states[name].nbytes for name in plan.reads(step) if plan.placed[name].kept)


def shrunk(plan: ShardPlan, stores: Sequence[Store], limit: int) -> frozenset[str]:
    """The relations of recursions in rounds that one task would have much room for."""
    return frozenset(
        name
        for step in plan.iterated
        if step.is_chosen and _homes(plan, step, stores) <= _BACK * limit
        for name in step.stratum.relations
    )


def _homes(plan: ShardPlan, step: Iterate, stores: Sequence[Store]) -> int:
    """The bytes of the rows of a recursion, each once, with what it reads: what one shard would have at the least."""
    homes = sorted({plan.placed[name].home for name in plan.reads(step)})
    return sum(store.states[home].nbytes for store in stores for home in homes)


def reason_on_one_shard(held: int, limit: int, shards: int, iterations: int) -> str:
    """Why a recursion is on one shard, and what rounds were expected to cost."""
    jobs = f"{iterations:,} job{'s' * (iterations != 1)} more for a load, {iterations * _JOB:,.0f} s at the least"
    return (
        f"on one shard, where it has {held:,} of the {limit:,} bytes that a task is to hold; "
        f"in rounds: some {held // shards:,} bytes in each of {shards} tasks, and {jobs}"
    )


def reason_in_rounds(plan: ShardPlan, step: Iterate, stores: Sequence[Store], limit: int | None) -> str:
    """Why a recursion is in rounds, and what one shard was expected to cost; nothing where that was not asked."""
    if limit is None or not step.is_chosen:
        return ""
    most = max(bytes_on(store.states, plan, step) for store in stores)
    return (
        f"in rounds, where {most:,} bytes of it are on one of {len(stores)} shards at the most; "
        f"on one shard: {_homes(plan, step, stores):,} bytes and more in one task, which is to hold {limit:,}, "
        "and no job for an iteration"
    )
