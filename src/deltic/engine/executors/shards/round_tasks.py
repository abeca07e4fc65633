"""The rounds of a recursion as stateless tasks: a round is a job, over a state that is not published.

An epoch with such recursions is several jobs. The first runs the stages up to theirs, and writes the state in which
their rounds start, with the pending rows. Each round is a job from there to the next such state; its derivations for
other shards go in messages to the next round. When nothing is pending, a job runs the later stages, from the state that
the rounds have left. So each step runs once, and only the last job's result is published: each job may be abandoned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from deltic.engine.executors.shards.exchange import Inbox, waiting_in
from deltic.engine.executors.shards.messages import Message, sent
from deltic.engine.executors.shards.plan_steps import Iterate, Step
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.tasks import Amid, Outcome, Task, handed_on, opened
from deltic.engine.files.files import Files
from deltic.engine.recursion.pending import FIRST, RoundId


@dataclass(frozen=True)
class Begin(Task):
    """A stage before the rounds of recursions, which start at stage `last`. That stage writes the state.

    The driver passes messages for later stages on.
    """

    last: int = field(default=0, kw_only=True)

    @property
    def is_last(self) -> bool:
        return self.stage == self.last

    def earlier_steps(self, stage: int) -> list[Step]:
        is_here = stage <= self.last
        is_end = stage == self.last or stage + 1 == self.stage_count
        return self.plan.needed(stage, self.since if is_here else self.last + 1, writes=is_end)

    def hand_on(self, messages: Iterable[Message]) -> Iterator[Message]:
        return map(handed_on, messages) if self.is_last else iter(messages)

    def finish(self, shard: Shard, files: Files, outcome: Outcome) -> Iterator[Message]:
        outcome.reports, outcome.rows_in = shard.work.reports, self._rows_in(shard)
        for number, step in enumerate(self.plan.iterated):
            if step.stage == self.last:
                rounds = shard.rounds[step.stratum]
                outcome.amid[number] = Amid(rounds.queue.first(), rounds.queue.waiting, rounds.is_empty, rounds.deepest)
                shard.hold(step)
        shard.end_before(self.last + 1)
        self._save(shard, files, outcome)
        return iter(())


@dataclass(frozen=True)
class Round(Task):
    """A stage of a round of the recursion of this `number`.

    The first stage gets the derivations of the previous round; the last one's derivations are for the next round.
    """

    number: int = 0
    now: RoundId = FIRST

    @property
    def _step(self) -> Iterate:
        return self.plan.iterated[self.number]

    @property
    def stage_count(self) -> int:
        return len(self._step.stages)

    def steps_of(self, stage: int) -> list[Step]:
        return [self._step, *(step for steps in self._step.stages[: stage + 1] for step in steps)]

    def open_shard(self, number: int, files: Files) -> Shard:
        return opened(number, self.plan, self.options, files, self.states[number], [self._step], self.taken)

    def take_steps(self, shard: Shard, inboxes: Sequence[Inbox]) -> list[Message]:
        return shard.round_alone(self._step, self.now, inboxes)

    def send(self, files: Files, messages: Sequence[Message], outcome: Outcome) -> Iterator[Message]:
        if not self.is_last:
            return super().send(files, messages, outcome)
        outcome.amid[self.number] = Amid(*waiting_in(self._step, messages))
        return map(handed_on, sent(files, messages, 0, self.direct))

    def finish(self, shard: Shard, files: Files, outcome: Outcome) -> Iterator[Message]:
        rounds, amid = shard.rounds[self._step.stratum], outcome.amid[self.number]
        amid.wait(rounds.queue.first(), rounds.queue.waiting)
        amid.reached = rounds.reached
        shard.hold(self._step)
        self._save(shard, files, outcome)
        return iter(())
