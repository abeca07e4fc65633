"""The rounds of recursions in an epoch of several jobs: each is a job, or runs here if few rows are pending."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.shards.exchange import Mail, mail_of
from deltic.engine.executors.shards.group import GroupRounds, closing_of
from deltic.engine.executors.shards.messages import Mailbox, Message
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.round_tasks import Round
from deltic.engine.executors.shards.rounds import in_rounds, report_of_rounds, termination_of
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.tasks import Amid, Outcome, Task, TaskWork, opened, save, wake
from deltic.engine.executors.spark.job_descriptions import NAMED
from deltic.engine.executors.stored_program import add_costs
from deltic.engine.files.files import Files
from deltic.engine.options import Options
from deltic.engine.recursion.driver import run_rounds
from deltic.engine.recursion.pending import RoundId
from deltic.engine.recursion.signed.oscillation import ClosingRelations
from deltic.engine.result import ComponentReport
from deltic.engine.storage.store import Renumbered, Store
from deltic.values.words import some_of

RunStages = Callable[[Sequence[Message], Sequence[Task], str], Outcome]
"""Runs stages on messages, under a name, and returns their outcome. Raises the errors of their tasks."""


@dataclass
class FileEpoch:
    """An epoch over the files of shards. Plans run one after another, each from the `states` that it has reached, which
    are not published. Of the present plan it has reached stage `since`, with messages for that stage and later ones.

    Rows of more than `direct` bytes travel to and from tasks in files. `run_round` runs rounds of recursions with more
    than `few` pending rows. Names of jobs start with `label`. If another plan wrote the states, `taken` maps the placed
    relations to take over to their names there.
    """

    files: Files
    conflicts: Conflicts
    direct: int
    few: int
    run_round: RunStages
    label: str
    states: Mapping[int, str]
    taken: Mapping[str, str] | None = None
    messages: Sequence[Message] = ()
    since: int = 0
    done: list[Outcome] = field(default_factory=list)
    """The outcomes of stages, in order."""
    rounds: list[JobRounds] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._fetched, self._written = self.files.traffic.fetched, self.files.traffic.written

    @property
    def visited(self) -> int:
        """The number of rows that were visited so far."""
        return sum(work.visited for work in (*self.done, *(each.work for each in self.rounds)))

    def outcome(self, placed: PlacedProgram, stores: Sequence[Store]) -> Outcome:
        """Return the outcome of all plans, which are parts of a program's, with the stores of the last states.

        Raises an EvaluationError if a row has no value.
        """
        result = Outcome(states=dict(self.states))
        for one in self.done:
            result.follow(one)
        for each in self.rounds:
            result.add(each.work)
        placed.refuse(result.faults)
        for each in self.rounds:
            report = each.report(result.rows_in, stores)
            result.reports.append(report)
            add_costs(result.costs, {report.relations[:1]: (report.rows_visited, report.seconds)})
        result.read += self.files.traffic.fetched - self._fetched
        result.written += self.files.traffic.written - self._written
        return result


class JobRounds:
    """Runs the rounds of a recursion in an epoch of several jobs; `outcome` is that of the last job, `work` of all."""

    def __init__(self, epoch: FileEpoch, plan: ShardPlan, options: Options, number: int, amid: Amid) -> None:
        self._epoch, self._plan, self._options, self._number = epoch, plan, options, number
        self._step, self._names, self._was_empty = plan.iterated[number], epoch.taken, amid.was_empty
        self._termination = termination_of(self._step, plan.program, options, amid.reached)
        self.outcome = Outcome(states=dict(epoch.states), amid={number: amid})
        self.work, self.seconds = TaskWork(), 0.0
        self._by_jobs = self._here = 0

    def run(self) -> None:
        """Run all rounds."""
        started = time.perf_counter()
        run_rounds(self, self._termination)
        self.seconds = time.perf_counter() - started

    def report(self, rows: Mapping[str, int], stores: Sequence[Store]) -> ComponentReport:
        """Return the report, with the numbers of changed rows of relations, and the written stores."""
        plan, options = self._plan, self._options
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
        if self._between.waiting <= self._epoch.few:
            self._take_here()
            return -1
        self._take_by_job(now)
        reached = self._between.reached
        return reached if reached == now.iteration else -1

    def closing(self) -> Sequence[ClosingRelations]:
        """Return the relations that close the cycles, as the last round has written them."""
        return closing_of(self._shards(), self._step)

    def _take_by_job(self, now: RoundId) -> None:
        epoch, step = self._epoch, self._step
        given = (epoch.conflicts, epoch.direct, self._names, 0, self._number, now)
        tasks = [
            Round(self._plan, self._options, epoch.files.place, self.outcome.states, stage, *given)
            for stage in range(len(step.stages))
        ]
        messages = [*wake(range(self._options.shards)), *self.outcome.following]
        what = f"{epoch.label}: {some_of(step.stratum.relations, NAMED)}: {step.round_label(now)}"
        self.outcome = epoch.run_round(messages, tasks, what)
        self._by_jobs += 1
        self.work.add(self.outcome)

    def _take_here(self) -> None:
        """Run rounds in this process, as long as few rows are pending."""
        shards, files, outcome = self._shards(), self._epoch.files, Outcome()
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
        given = self._plan, self._options, self._epoch.files
        return [
            opened(number, *given, state, [self._step], self._names) for number, state in self.outcome.states.items()
        ]

    def _taken_here(self, shards: Sequence[Shard], derived: Mail) -> bool:
        """Run rounds while few rows are pending, the first with the derivations of the last job.

        Return False if values were renumbered.
        """
        rounds, few = GroupRounds(shards, self._step), self._epoch.few
        try:
            for shard in shards:
                shard.begin("trust")
                shard.load(self._step, derived.get(shard.number, {}))
            self._here += run_rounds(rounds, self._termination, lambda: rounds.waiting <= few)
        except Renumbered:
            return False
        return True
