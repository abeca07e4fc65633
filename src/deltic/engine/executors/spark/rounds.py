"""The rounds of recursions in an epoch that is jobs: each is one of its own, or, where few rows wait, taken here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.shards.exchange import Mail, mail_of
from deltic.engine.executors.shards.group import GroupRounds, closing_of
from deltic.engine.executors.shards.messages import Mailbox, Message
from deltic.engine.executors.shards.options import Options
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.round_steps import Renumbered
from deltic.engine.executors.shards.round_tasks import Begin, Round, RoundsTaken, hold
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.tasks import Amid, Outcome, Task, opened, wake
from deltic.engine.executors.shards.termination import termination_of
from deltic.engine.executors.spark.job_descriptions import some_of
from deltic.engine.files.files import Files
from deltic.engine.recursion.driver import run_rounds
from deltic.engine.recursion.pending import RoundId
from deltic.engine.recursion.signed.oscillation import ClosingRelations
from deltic.engine.recursion.termination import Termination


@dataclass
class Reached:
    """How far an epoch has come: to stage `since`, with these states, and messages for that stage and later ones.

    Where another plan has written the states, those placed relations are `taken` over that have these names there.
    """

    states: Mapping[int, str]
    messages: Sequence[Message]
    taken: Mapping[str, str] | None
    since: int = 0
    done: list[Outcome] = field(default_factory=list)
    """What the jobs of stages did."""
    rounds: list[RoundsTaken] = field(default_factory=list)

    def total(self, last: Outcome) -> Outcome:
        """The outcome of the whole epoch, with that of the last job."""
        for one in self.done:
            last.reports = one.reports + last.reports
            last.rows_in = one.rows_in | last.rows_in
        every: list[Outcome | RoundsTaken] = [*self.done, *self.rounds]
        for each in every:
            last.visited += each.visited
            last.read += each.read
            last.written += each.written
            last.faults += each.faults
        return last


@dataclass(frozen=True)
class RoundJobs:
    """Takes all shards through the stages of an epoch of a plan up to the last one with rounds, and through these.

    Rows of more than `direct` bytes travel in files; rounds for which no more than `few` rows wait are taken in this
    process. `run` runs a job, whose name begins with `label`.
    """

    plan: ShardPlan
    options: Options
    files: Files
    conflicts: Conflicts
    direct: int
    few: int
    run: Callable[[Sequence[Message], Sequence[Task], str], Outcome]
    label: str

    def run_rounds(self, reached: Reached) -> Reached:
        """Take all shards on behind the last rounds of the epoch, if there are any."""
        for last in sorted({step.stage for step in self.plan.iterated}):
            begun = self._begin(reached, last)
            waking = wake(self.options.shards)
            reached.states, reached.messages = begun.states, [*waking, *begun.following]
            reached.since, reached.taken = last + 1, self._as_written(reached)
            reached.done.append(begun)
            for number, step in enumerate(self.plan.iterated):
                if step.stage == last:
                    self._iterate(reached, number, begun.amid[number])
        return reached

    def _as_written(self, reached: Reached) -> Mapping[str, str] | None:
        """Within the epoch relations have their own names, and are kept as they were taken over, if any were."""
        return None if reached.taken is None else {name: name for name in self.plan.program.relations}

    def _begin(self, reached: Reached, last: int) -> Outcome:
        """Take the stages up to that in which rounds begin."""
        place, given = self.files.place, (self.conflicts, self.direct, reached.taken, reached.since, last)
        tasks = [
            Begin(self.plan, self.options, place, reached.states, stage, *given)
            for stage in range(reached.since, last + 1)
        ]
        names = [name for step in self.plan.iterated if step.stage == last for name in step.stratum.relations]
        return self.run(reached.messages, tasks, f"{self.label}: {some_of(names)}: begin")

    def _iterate(self, reached: Reached, number: int, amid: Amid) -> None:
        """Take all shards through the rounds of a recursion."""
        step = self.plan.iterated[number]
        termination = termination_of(step, self.plan.program, self.options, amid.reached)
        rounds = _JobRounds(self, reached, number, amid, termination)
        run_rounds(rounds, termination)
        rounds.taken.end()
        reached.states = rounds.outcome.states
        reached.rounds.append(rounds.taken)


class _JobRounds:
    """Takes the rounds of a recursion of an epoch that is jobs: `outcome` is that of the last one."""

    def __init__(self, jobs: RoundJobs, reached: Reached, number: int, amid: Amid, termination: Termination) -> None:
        self._jobs, self._number, self._termination = jobs, number, termination
        self._step, self._names = jobs.plan.iterated[number], reached.taken
        self.taken = RoundsTaken(self._step, amid, jobs.options.shards)
        self.outcome = Outcome(states=dict(reached.states), amid={number: amid})

    @property
    def _between(self) -> Amid:
        return self.outcome.amid[self._number]

    def first(self) -> RoundId | None:
        """The first round for which anything waits."""
        return self._between.first

    def take(self, now: RoundId) -> int:
        """Take a round by a job; where few rows wait, it and those after it in this process."""
        if self._between.waiting <= self._jobs.few:
            self._take_here()
            return -1
        self._take_by_job(now)
        reached = self._between.reached
        return reached if reached == now.iteration else -1

    def closing(self) -> Sequence[ClosingRelations]:
        """The relations that close the cycles, as the last round has written them."""
        return closing_of(self._shards(), self._step)

    def _take_by_job(self, now: RoundId) -> None:
        jobs, step = self._jobs, self._step
        given = (jobs.conflicts, jobs.direct, self._names, 0, self._number, now)
        tasks = [
            Round(jobs.plan, jobs.options, jobs.files.place, self.outcome.states, stage, *given)
            for stage in range(len(step.stages))
        ]
        messages = [*wake(jobs.options.shards), *self.outcome.following]
        what = f"{jobs.label}: {some_of(step.stratum.relations)}: {step.round_label(now)}"
        self.outcome = jobs.run(messages, tasks, what)
        self.taken.add(self.outcome)

    def _take_here(self) -> None:
        """Take rounds in this process, as long as few rows wait."""
        shards, files, outcome = self._shards(), self._jobs.files, Outcome()
        mailbox = Mailbox(files)
        derived = mail_of(Message.of(m.target, m.shard, mailbox.rows(m)) for m in self.outcome.following)
        while not self._taken_here(shards, derived):
            for shard in shards:
                shard.roll_back()
        for shard in shards:
            self.taken.faults += shard.environment.faults
            self.taken.visited += shard.environment.visits.rows
            hold(shard, self._number, self._step, files, self.outcome.states[shard.number], outcome)
        self.outcome = outcome

    def _shards(self) -> list[Shard]:
        """All shards between the rounds of the recursion, as files have them."""
        given = self._jobs.plan, self._jobs.options, self._jobs.files
        return [
            opened(number, *given, state, [self._step], self._names) for number, state in self.outcome.states.items()
        ]

    def _taken_here(self, shards: Sequence[Shard], derived: Mail) -> bool:
        """Take rounds while few rows wait, the first with what was derived before.

        Whether that went well, or values were renumbered on the way.
        """
        rounds, few = GroupRounds(shards, self._step), self._jobs.few
        try:
            for shard in shards:
                shard.begin("trust")
                shard.load(self._step, derived.get(shard.number, {}))
            self.taken.here += run_rounds(rounds, self._termination, lambda: rounds.waiting <= few)
        except Renumbered:
            return False
        return True
