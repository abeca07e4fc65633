"""A plan over the files of shards: its stages, as a job or in this process, and rounds of recursions between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deltic.engine.executors.forgetting import Forget
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.round_tasks import Begin
from deltic.engine.executors.shards.tasks import Outcome, Task, wake
from deltic.engine.executors.spark.job_descriptions import NAMED
from deltic.engine.executors.spark.rounds import FileEpoch, JobRounds, RunStages
from deltic.errors import count_of
from deltic.values.words import some_of


@dataclass(frozen=True)
class FilePlan:
    """Runs a plan in an epoch; `run` runs its stages."""

    epoch: FileEpoch
    placed: PlacedProgram
    run: RunStages

    def run_on(self, changes: Sequence[Message], forget: Forget | None = None) -> None:
        """Run the plan on messages, and then forget rows. Raises the errors of the tasks."""
        epoch, plan, shards = self.epoch, self.placed.plan, self.placed.options.shards
        is_of_all = epoch.taken is not None or plan.works_unasked or forget is not None
        woken = wake(n for n in range(shards) if is_of_all or n not in epoch.states)  # others when rows reach them
        epoch.messages, epoch.since = [*woken, *changes], 0
        for last in sorted({step.stage for step in plan.iterated}):
            self._run_rounds(last)
        tasks = [Task(*self._given(stage), forget=forget) for stage in range(epoch.since, len(plan.stages))]
        views = some_of(list(self.placed.program.sinks), NAMED)
        outcome = self._outcome(tasks, f"{count_of(len(tasks), 'stage')}: {views}")
        epoch.states = {**epoch.states, **outcome.states}

    def _given(self, stage: int) -> tuple[Any, ...]:
        """Return the arguments of the task of a stage."""
        epoch, placed = self.epoch, (self.placed.plan, self.placed.options)
        settings = epoch.conflicts, epoch.direct, epoch.taken, epoch.since
        return *placed, epoch.files.place, epoch.states, stage, *settings

    def _outcome(self, tasks: Sequence[Task], what: str) -> Outcome:
        """Return the outcome of tasks on the messages that the epoch has reached."""
        outcome = self.run(self.epoch.messages, tasks, f"{self.epoch.label}: {what}")
        self.epoch.done.append(outcome)
        return outcome

    def _run_rounds(self, last: int) -> None:
        """Run the stages up to the `last` before some rounds, and these rounds, on all shards."""
        epoch, plan, options = self.epoch, self.placed.plan, self.placed.options
        starting = {number: step for number, step in enumerate(plan.iterated) if step.stage == last}
        names = [name for step in starting.values() for name in step.stratum.relations]
        tasks = [Begin(*self._given(stage), last=last) for stage in range(epoch.since, last + 1)]
        begun = self._outcome(tasks, f"{some_of(names, NAMED)}: begin")
        epoch.states, epoch.messages = begun.states, [*wake(range(options.shards)), *begun.following]
        epoch.since = last + 1
        if epoch.taken is not None:  # after the first job relations are written under their own names
            epoch.taken = {name: name for name in plan.program.relations}
        for number in starting:
            rounds = JobRounds(epoch, plan, options, number, begun.amid[number])
            rounds.run()
            epoch.states = rounds.outcome.states
            epoch.rounds.append(rounds)
