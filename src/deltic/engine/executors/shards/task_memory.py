"""Whether a recursion that preserves no key fits one task: then it runs on one shard, otherwise in rounds.

The size of a recursion's result is not known before it is derived. So it starts on one shard, which is fastest, and is
watched as it grows. If it exceeds the memory of a task, the epoch is abandoned, and restarts in rounds. It returns to
one shard when it is so much smaller that it will not soon outgrow it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.plan_steps import Iterate, Recur
from deltic.engine.operators.query import Environment, VisitLimit
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store
from deltic.errors import DelticError, count_of

# The bytes that a visited row may add to a recursion: its derivation in some column orders, and pending rows.
_ROW = 64
# The share of a task's memory into which a recursion must fit to return to one shard.
_BACK = 0.25
# The fixed cost of a job, in seconds, as measured on two cores.
_JOB = 1.0


class Outgrown(DelticError):
    """A recursion exceeds the memory of a task on its shard. The epoch is abandoned, and restarts in rounds."""

    def __init__(self, relations: tuple[str, ...], held: int, limit: int) -> None:
        self.relations, self.held, self.limit = relations, held, limit
        super().__init__(f"{', '.join(relations)}: {held:,} bytes on one shard, and a task is to hold {limit:,}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Outgrown, (self.relations, self.held, self.limit)


@contextmanager
def watched(step: Recur, plan: ShardPlan, environment: Environment, limit: int) -> Iterator[None]:
    """Watch a recursion grow in this block. Raises Outgrown if it has more than `limit` bytes on its shard."""

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
    """Return the bytes of a recursion on a shard, with the relations that it reads there."""
    return sum(states[name].nbytes for name in plan.reads(step) if plan.placed[name].kept)


def shrunk(plan: ShardPlan, stores: Sequence[Store], limit: int) -> frozenset[str]:
    """Return the relations of recursions in rounds that would fit one task well."""
    return frozenset(
        name
        for step in plan.iterated
        if step.is_chosen and _homes(plan, step, stores) <= _BACK * limit
        for name in step.stratum.relations
    )


def _homes(plan: ShardPlan, step: Iterate, stores: Sequence[Store]) -> int:
    """Return the least bytes of a recursion on one shard: its rows, each once, and what it reads."""
    homes = sorted({plan.placed[name].home for name in plan.reads(step)})
    return sum(store.states[home].nbytes for store in stores for home in homes)


def reason_on_one_shard(held: int, limit: int, shards: int, iterations: int) -> str:
    """Explain why a recursion is on one shard, with the expected cost of rounds."""
    jobs = f"{count_of(iterations, 'job')} more for a load, {iterations * _JOB:,.0f} s at the least"
    return (
        f"on one shard, where it has {held:,} of the {limit:,} bytes that a task is to hold; "
        f"in rounds: some {held // shards:,} bytes in each of {shards} tasks, and {jobs}"
    )


def reason_in_rounds(plan: ShardPlan, step: Iterate, stores: Sequence[Store], limit: int | None) -> str:
    """Explain why a recursion is in rounds, with the expected cost of one shard; "" if it was not chosen by size."""
    if limit is None or not step.is_chosen:
        return ""
    most = max(bytes_on(store.states, plan, step) for store in stores)
    return (
        f"in rounds, where {most:,} bytes of it are on one of {len(stores)} shards at the most; "
        f"on one shard: {_homes(plan, step, stores):,} bytes and more in one task, which is to hold {limit:,}, "
        "and no job for an iteration"
    )
