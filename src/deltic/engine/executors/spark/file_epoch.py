"""An epoch over the files of shards: plans run one after another, each as jobs or in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.epoch_work import add_costs
from deltic.engine.executors.forgetting import Forget
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.tasks import Outcome, Task, wake
from deltic.engine.executors.spark.job_descriptions import NAMED
from deltic.engine.executors.spark.rounds import Reached, RoundJobs, RunStages
from deltic.engine.files.files import Files
from deltic.engine.storage.store import Store
from deltic.errors import count_of
from deltic.values.words import some_of


@dataclass
class FileEpoch:
    """Runs plans, each from the states in files that it has `reached`. They are not published.

    Rows of more than `direct` bytes travel to and from tasks in files. `run_round` runs rounds of recursions with more
    than `few` pending rows. Names of jobs start with `label`.
    """

    files: Files
    conflicts: Conflicts
    direct: int
    few: int
    run_round: RunStages
    label: str
    reached: Reached

    def __post_init__(self) -> None:
        self._fetched, self._written = self.files.traffic.fetched, self.files.traffic.written

    def run(
        self, placed: PlacedProgram, changes: Sequence[Message], run: RunStages, forget: Forget | None = None
    ) -> None:
        """Run the stages of a plan on messages by `run`, and then forget rows. Raises the errors of the tasks."""
        plan, options, reached = placed.plan, placed.options, self.reached
        is_of_all = reached.taken is not None or plan.works_unasked or forget is not None
        woken = wake(n for n in range(options.shards) if is_of_all or n not in reached.states)  # others when rows come
        reached.begin([*woken, *changes])
        limits = self.conflicts, self.direct, self.few
        RoundJobs(plan, options, self.files, *limits, run, self.run_round, self.label).run_rounds(reached)
        given = self.conflicts, self.direct, reached.taken, reached.since
        tasks = [
            Task(plan, options, self.files.place, reached.states, stage, *given, forget=forget)
            for stage in range(reached.since, len(plan.stages))
        ]
        views = some_of(list(placed.program.sinks), NAMED)
        reached.finish(run(reached.messages, tasks, f"{self.label}: {count_of(len(tasks), 'stage')}: {views}"))

    def outcome(self, placed: PlacedProgram, stores: Sequence[Store]) -> Outcome:
        """Return the outcome of all plans, the parts of a program, with the stores of the new files.

        Raises an EvaluationError if a row has no value.
        """
        outcome = self.reached.outcome
        placed.refuse(outcome.faults)
        for each in self.reached.rounds:
            report = each.report(outcome.rows_in, stores)
            outcome.reports.append(report)
            add_costs(outcome.costs, {report.relations[:1]: (report.rows_visited, report.seconds)})
        outcome.read += self.files.traffic.fetched - self._fetched
        outcome.written += self.files.traffic.written - self._written
        return outcome
