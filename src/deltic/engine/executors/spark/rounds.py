"""The rounds of recursions in an epoch of several jobs: each is a job, or runs here if few rows are pending."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.shards.exchange import Mail, mail_of
from deltic.engine.executors.shards.group import GroupRounds, closing_of
from deltic.engine.executors.shards.messages import Mailbox, Message
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.round_tasks import Begin, Round
from deltic.engine.executors.shards.rounds import in_rounds, report_of_rounds, termination_of
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.tasks import Amid, Outcome, Task, TaskWork, opened, save, wake
from deltic.engine.executors.spark.job_descriptions import NAMED
from deltic.engine.files.files import Files
from deltic.engine.options import Options
from deltic.engine.recursion.driver import run_rounds
from deltic.engine.recursion.pending import RoundId
from deltic.engine.recursion.signed.oscillation import ClosingRelations
from deltic.engine.recursion.termination import Termination
from deltic.engine.result import ComponentReport
from deltic.engine.storage.store import Renumbered, Store
from deltic.values.words import some_of

RunStages = Callable[[Sequence[Message], Sequence[Task], str], Outcome]
"""Runs stages on messages, under a name, and returns their outcome. Raises the errors of their tasks."""


@dataclass
class Reached:
    """The progress of an epoch from files: with these states it has reached stage `since` of a plan, and messages for
    that stage and later ones.

    If another plan wrote the states, `taken` maps the placed relations to take over to their names there.
    """

    states: Mapping[int, str]
    taken: Mapping[str, str] | None = None
    messages: Sequence[Message] = ()
    since: int = 0
    done: list[Outcome] = field(default_factory=list)
    """The outcomes of the stages, in order."""
    rounds: list[JobRounds] = field(default_factory=list)

    def begin(self, messages: Sequence[Message]) -> None:
        """Start the first stage of a plan, with these messages."""
        self.messages, self.since = messages, 0

    def finish(self, outcome: Outcome) -> None:
        """Take the outcome of a plan's last stage."""
        self.done.append(outcome)
        self.states = {**self.states, **outcome.states}

    @property
    def outcome(self) -> Outcome:
        """The outcome of all stages and rounds."""
        result = Outcome(states=dict(self.states))
        for one in self.done:
            result.follow(one)
        for each in self.rounds:
            result.add(each.work)
        return result


@dataclass(frozen=True)
class RoundJobs:
    """Runs the stages of an epoch up to the last one with rounds, and these rounds, on all shards.

    Rows of more than `direct` bytes travel in files. Rounds with at most `few` pending rows run in this process.
    `run` runs the stages, and `run_round` those of a round; their names start with `label`.
    """

    plan: ShardPlan
    options: Options
    files: Files
    conflicts: Conflicts
    direct: int
    few: int
    run: RunStages
    run_round: RunStages
    label: str

    def run_rounds(self, reached: Reached) -> None:
        """Run the epoch up to the end of its last rounds, if there are any."""
        for last in sorted({step.stage for step in self.plan.iterated}):
            begun = self._begin(reached, last)
            waking = wake(range(self.options.shards))
            reached.states, reached.messages = begun.states, [*waking, *begun.following]
            reached.since = last + 1
            if reached.taken is not None:  # after the first job relations are written under their own names
                reached.taken = {name: name for name in self.plan.program.relations}
            reached.done.append(begun)
            for number, step in enumerate(self.plan.iterated):
                if step.stage == last:
                    self._iterate(reached, number, begun.amid[number])

    def _begin(self, reached: Reached, last: int) -> Outcome:
        """Run the stages up to the one in which rounds start."""
        place, given = self.files.place, (self.conflicts, self.direct, reached.taken, reached.since, last)
        tasks = [
            Begin(self.plan, self.options, place, reached.states, stage, *given)
            for stage in range(reached.since, last + 1)
        ]
        names = [name for step in self.plan.iterated if step.stage == last for name in step.stratum.relations]
        return self.run(reached.messages, tasks, f"{self.label}: {some_of(names, NAMED)}: begin")

    def _iterate(self, reached: Reached, number: int, amid: Amid) -> None:
        """Run the rounds of a recursion on all shards."""
        termination = termination_of(self.plan.iterated[number], self.plan.program, self.options, amid.reached)
        started, rounds = time.perf_counter(), JobRounds(self, reached, number, amid, termination)
        run_rounds(rounds, termination)
        rounds.seconds = time.perf_counter() - started
        reached.states = rounds.outcome.states
        reached.rounds.append(rounds)


class JobRounds:
    """Runs the rounds of a recursion in an epoch of several jobs; `outcome` is that of the last job, `work` of all."""

    def __init__(self, jobs: RoundJobs, reached: Reached, number: int, amid: Amid, termination: Termination) -> None:
        self._jobs, self._number, self._termination = jobs, number, termination
        self._step, self._names, self._was_empty = jobs.plan.iterated[number], reached.taken, amid.was_empty
        self.outcome = Outcome(states=dict(reached.states), amid={number: amid})
        self.work, self.seconds = TaskWork(), 0.0
        self._by_jobs = self._here = 0

    def report(self, rows: Mapping[str, int], stores: Sequence[Store]) -> ComponentReport:
        """Return the report, with the numbers of changed rows of relations, and the written stores."""
        plan, options = self._jobs.plan, self._jobs.options
        rounds = f"{in_rounds(self._by_jobs + self._here, options.shards)}, {self._by_jobs:,} of them a job each"
        given = plan, self._step, stores, options.task_memory, self._was_empty, rounds
        return report_of_rounds(*given, lambda name: rows.get(name, 0), (self.work.visited, self.seconds))

    @property
    def _between(self) -> Amid:
        return self.outcome.amid[self._number]

    def first(self) -> RoundId | None:
        """Return the first round with pending entries."""
        return self._between.first

    def take(self, now: RoundId) -> int:
        """Run a round as a job. If few rows are pending, run it and those after it in this process."""
        if self._between.waiting <= self._jobs.few:
            self._take_here()
            return -1
        self._take_by_job(now)
        reached = self._between.reached
        return reached if reached == now.iteration else -1

    def closing(self) -> Sequence[ClosingRelations]:
        """Return the relations that close the cycles, as the last round has written them."""
        return closing_of(self._shards(), self._step)

    def _take_by_job(self, now: RoundId) -> None:
        jobs, step = self._jobs, self._step
        given = (jobs.conflicts, jobs.direct, self._names, 0, self._number, now)
        tasks = [
            Round(jobs.plan, jobs.options, jobs.files.place, self.outcome.states, stage, *given)
            for stage in range(len(step.stages))
        ]
        messages = [*wake(range(jobs.options.shards)), *self.outcome.following]
        what = f"{jobs.label}: {some_of(step.stratum.relations, NAMED)}: {step.round_label(now)}"
        self.outcome = jobs.run_round(messages, tasks, what)
        self._by_jobs += 1
        self.work.add(self.outcome)

    def _take_here(self) -> None:
        """Run rounds in this process, as long as few rows are pending."""
        shards, files, outcome = self._shards(), self._jobs.files, Outcome()
        mailbox = Mailbox(files)
        derived = mail_of(Message.of(m.target, m.shard, mailbox.rows(m)) for m in self.outcome.following)
        while not self._taken_here(shards, derived):
            for shard in shards:
                shard.roll_back()
        for shard in shards:
            self.work.add(TaskWork(shard.environment.visits.rows, faults=list(shard.environment.faults)))
            rounds = shard.rounds[self._step.stratum]
            between = Amid(rounds.queue.first(), rounds.queue.waiting)
            shard.hold(self._step)
            states = {shard.number: save(shard, files, self.outcome.states[shard.number])}
            outcome.include(Outcome(states=states, amid={self._number: between}))
        self.outcome = outcome

    def _shards(self) -> list[Shard]:
        """Return all shards between the rounds of the recursion, read from files."""
        given = self._jobs.plan, self._jobs.options, self._jobs.files
        return [
            opened(number, *given, state, [self._step], self._names) for number, state in self.outcome.states.items()
        ]

    def _taken_here(self, shards: Sequence[Shard], derived: Mail) -> bool:
        """Run rounds while few rows are pending, the first with the derivations of the last job.

        Return False if values were renumbered.
        """
        rounds, few = GroupRounds(shards, self._step), self._jobs.few
        try:
            for shard in shards:
                shard.begin("trust")
                shard.load(self._step, derived.get(shard.number, {}))
            self._here += run_rounds(rounds, self._termination, lambda: rounds.waiting <= few)
        except Renumbered:
            return False
        return True
