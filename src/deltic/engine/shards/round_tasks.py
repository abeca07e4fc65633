"""The rounds of a recursion as tasks without memory: a round is a job, over a state that nobody has published.

An epoch with such a recursion is several jobs. The first takes what leads to the recursion, and writes the state in
which its rounds begin, with what waits for them. Each round is a job from there to the next such state; what it changes
it also tells in letters, and what it derives for other shards goes in letters to the next round. The last job takes the
epoch from its start, from the state that was published, with what the rounds have told in their place. So it is the
last one alone that anybody sees, and each job may be given up. What they write beside it no disk has to keep.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from deltic.engine.files.files import Files
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.storage.store import Store
from deltic.engine.protocol import ComponentReport
from deltic.engine.shards.exchange import Inbox, Parcel, waiting_in
from deltic.engine.shards.letters import DRIVER, Letter, letters_of, sent, together_few
from deltic.engine.shards.plan import Adopt, Iterate, ShardPlan, Step
from deltic.engine.shards.rounds import in_rounds
from deltic.engine.shards.shard import Shard
from deltic.engine.shards.tasks import NEXT, Outcome, Task, opened, save


def beginning(plan: ShardPlan, step: Iterate) -> ShardPlan:
    """The plan of what leads to the rounds of a recursion; earlier ones are adopted."""
    earlier = plan.iterated[: plan.iterated.index(step)]
    steps = [each for each in adopting(plan, earlier, later=(step,)).steps if each.stage <= step.stage]
    wanted = {*step.stratum.relations, *plan.reads(step)}
    found: list[Step] = [step]
    for each in reversed(steps):
        if each is not step and not wanted.isdisjoint(plan.makes(each)):
            found.append(each)
            wanted |= plan.reads(each)
    return replace(plan, steps=tuple(found[::-1]))


def adopting(plan: ShardPlan, iterated: Collection[Iterate], later: Collection[Iterate] = ()) -> ShardPlan:
    """The plan with what these recursions changed in place of their rounds and of what leads to these.

    Of others only those that come `later` are left.
    """

    def steps() -> Iterator[Step]:
        gone = {name for step in iterated for name in step.timed}
        for step in plan.steps:
            if isinstance(step, Iterate):
                if step in iterated:
                    yield Adopt(step.places, step.stage)
                elif step in later:
                    yield step
            elif plan.makes(step)[0] not in gone:
                yield step

    return replace(plan, steps=tuple(steps()))


@dataclass(frozen=True)
class Begin(Task):
    """A stage of what leads to the rounds of a recursion, the last step of the plan; the last writes their state."""

    def _finish(self, shard: Shard, files: Files, outcome: Outcome) -> Iterator[Letter]:
        step = self.plan.iterated[-1]
        outcome.was_empty = shard.is_empty(step)
        outcome.rows_in = {name: shard.changed_rows(name) for name in self.plan.followed(step)}
        hold(shard, step, files, self.states.get(shard.number), outcome)
        return iter(())


@dataclass(frozen=True)
class Round(Task):
    """A stage of the round of iteration `now` of the last step of the plan.

    The first one gets what the round before has derived; what the last one derives is for the next round.
    """

    now: int = 0

    @property
    def _step(self) -> Iterate:
        return self.plan.iterated[-1]

    @property
    def _count(self) -> int:
        return len(self._step.stages)

    def _steps(self, stage: int) -> list[Step]:
        return [self._step, *(step for steps in self._step.stages[: stage + 1] for step in steps)]

    def _opened(self, number: int, files: Files) -> Shard:
        return opened(number, self.plan, self.options, files, self.states[number], [self._step])

    def _taken(self, shard: Shard, inboxes: Sequence[Inbox]) -> list[Parcel]:
        return shard.round_alone(self._step, self.now, inboxes)

    def _sent(self, files: Files, parcels: Sequence[Parcel], outcome: Outcome) -> Iterator[Letter]:
        if not self._is_last:
            return super()._sent(files, parcels, outcome)
        outcome.wait(*waiting_in(parcels))
        return (replace(a, target=NEXT + a.target) for a in sent(files, parcels, DRIVER, self.direct))

    def _finish(self, shard: Shard, files: Files, outcome: Outcome) -> Iterator[Letter]:
        parcels = shard.changed_in_round(self._step)
        told = (letter for p in parcels for letter in letters_of(p.target, p.shard, DRIVER, p.rows))
        yield from together_few(files, told, self.direct)
        hold(shard, self._step, files, self.states[shard.number], outcome)


@dataclass
class RoundsTaken:
    """The rounds of a recursion that were jobs, after the one that has begun them; `letters` are to be adopted."""

    step: Iterate
    began: Outcome
    shards: int
    jobs: int = 0
    here: int = 0
    """How many rounds were taken in the driver's process."""
    visited: int = 0
    read: int = 0
    written: int = 0
    letters: list[Letter] = field(default_factory=list)
    faults: list[tuple[str, str, int]] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.visited, self.read, self.written = self.began.visited, self.began.read, self.began.written
        self.faults += self.began.faults

    def add(self, outcome: Outcome) -> None:
        """Add a round that was a job."""
        self.jobs += 1
        self.visited += outcome.visited
        self.read += outcome.read
        self.written += outcome.written
        self.faults += outcome.faults
        told = chain.from_iterable(outcome.changes.values())
        self.letters += [replace(letter, stage=self.step.stage) for letter in told]

    def report(self, outcome: Outcome, stores: Sequence[Store], way: str) -> ComponentReport:
        """What was done, with the outcome of the job that adopted it and the stores that it wrote."""
        relations = self.step.stratum.relations
        return ComponentReport(
            relations,
            Strategy.NESTED.value,
            "bootstrap" if self.began.was_empty else "update",
            f"{in_rounds(self.jobs + self.here, self.shards)}, {self.jobs:,} of them a job each",
            sum(self.began.rows_in.values()),
            sum(outcome.rows_in.get(name, 0) for name in relations),
            self.visited,
            time.perf_counter() - self.started,
            sum(store.states[name].nbytes for store in stores for name in self.step.timed),
            way,
        )


def hold(shard: Shard, step: Iterate, files: Files, before: str | None, outcome: Outcome) -> None:
    """Write the state of a shard amid rounds, with what waits for them."""
    outcome.wait(shard.first(step), shard.waiting(step))
    shard.hold(step)
    shard.end()
    shard.forget_changes()
    outcome.states[shard.number] = save(shard, files.passing(), before)
