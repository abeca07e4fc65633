"""All shards of a program in one process: an exchange between two stages is a list of batches for each shard."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from deltic.engine.changes import Changes, ViewChange
from deltic.engine.conflicts import Conflicts, TableError, joined
from deltic.engine.executors.forgetting import Forget
from deltic.engine.executors.shards.exchange import Mail, mail_of
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.plan_steps import Iterate
from deltic.engine.executors.shards.rounds import in_rounds, report_of_rounds, termination_of
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.stored_program import Costs, add_costs, work_of
from deltic.engine.interrupts import postponed
from deltic.engine.prepared import unfailing
from deltic.engine.recursion.driver import run_rounds
from deltic.engine.recursion.pending import RoundId
from deltic.engine.recursion.signed.oscillation import ClosingRelations
from deltic.engine.recursion.termination import shown
from deltic.engine.result import ComponentReport, EpochResult
from deltic.engine.state_version import StateVersion, together
from deltic.engine.storage.arrow import view_change
from deltic.engine.storage.store import Renumbered, Store
from deltic.errors import DelticError


class ShardGroup:
    """The shards of a placed program, which run epochs together."""

    def __init__(self, placed: PlacedProgram, shards: Sequence[Shard]) -> None:
        self.placed, self.plan, self.shards = placed, placed.plan, shards

    @property
    def stores(self) -> list[Store]:
        """The stores of all shards."""
        return [shard.store for shard in self.shards]

    def run(self, sent: Iterable[Message], conflicts: Conflicts, forget: Forget | None = None) -> EpochResult:
        """Run an epoch on all shards, again if values were renumbered between rounds. Call `end` afterwards.

        After any exception the rows are as before.
        """
        messages = list(sent)
        try:
            while True:
                try:
                    return self._run(messages, conflicts, forget)
                except Renumbered:
                    self.roll_back()
        except BaseException:
            self.roll_back()
            raise

    def end(self, before: StateVersion) -> StateVersion:
        """Return the version of an epoch that was run, after `before`, in time proportional to its changes.

        Its changes become part of the rows; `roll_back` still undoes it.
        """
        try:
            version = before.following(self.placed.program, self.stores)
        except BaseException:
            self.roll_back()
            raise
        self.forget_changes()
        return version

    def forget_changes(self) -> None:
        """Forget the changes of the epoch, which are part of the rows."""
        for shard in self.shards:
            shard.store.end_epoch()

    def keep(self) -> None:
        """Make the epoch final."""
        for shard in self.shards:
            shard.store.rewritten = {}

    def roll_back(self) -> None:
        """Return to the rows before the epoch."""
        for shard in self.shards:
            unfailing(shard.roll_back, "to undo an epoch")

    def changed_rows(self, name: str) -> int:
        """Return the number of rows of a relation that the epoch has changed."""
        return sum(shard.changed_rows(name) for shard in self.shards)

    # An epoch

    def _run(self, sent: Iterable[Message], conflicts: Conflicts, forget: Forget | None) -> EpochResult:
        """Run the stages of an epoch on all shards."""
        mail, iterated, costs = mail_of(sent), list[ComponentReport](), Costs()
        changed = {name for received in mail.values() for name in received}
        stages = self.placed.for_epoch(changed, empty_relations(self.plan, self.stores)).plan.stages
        for shard in self.shards:
            shard.begin(conflicts, stages)
        for stage, steps in enumerate(stages):
            mail = mail_of(self._stage(stage, mail))
            iterated += [self._iterate(step) for step in steps if isinstance(step, Iterate)]
        self.placed.refuse(fault for shard in self.shards for fault in shard.environment.faults)
        postponed.check()
        for shard in self.shards:
            shard.end(forget)
        result = {view: change for view, name in self.placed.program.sinks.items() if (change := self._change(name))}
        for shard in self.shards:
            add_costs(costs, shard.work.costs)
        for each in iterated:
            add_costs(costs, {each.relations[:1]: (each.rows_visited, each.seconds)})
        reports = (*summed(report for shard in self.shards for report in shard.work.reports), *iterated)
        work = work_of(self.placed.program, costs)
        return EpochResult(Changes(result), rows_visited=self._visited(), components=reports, work=work)

    def _stage(self, stage: int, mail: Mail) -> list[Message]:
        """Run a stage on all shards. Return the messages that they send."""
        sent: list[Message] = []
        errors: list[DelticError] = []
        for shard in self.shards:
            try:
                sent += shard.run(stage, mail.get(shard.number, {}))
            except TableError as error:
                errors.append(error)
        if errors:
            raise joined(errors)
        return sent

    def _iterate(self, step: Iterate) -> ComponentReport:
        """Run the rounds of a recursion on all shards."""
        started, visited, options = time.perf_counter(), self._visited(), self.placed.options
        was_empty = all(shard.rounds[step.stratum].is_empty for shard in self.shards)
        deepest = max(shard.rounds[step.stratum].deepest for shard in self.shards)
        rounds = run_rounds(GroupRounds(self.shards, step), termination_of(step, self.plan.program, options, deepest))
        for shard in self.shards:
            shard.rounds[step.stratum].finish()
        cost = self._visited() - visited, time.perf_counter() - started
        given = self.plan, step, self.stores, options.task_memory, was_empty, in_rounds(rounds, len(self.shards))
        return report_of_rounds(*given, self.changed_rows, cost)

    def _visited(self) -> int:
        return sum(shard.environment.visits.rows for shard in self.shards)

    def _change(self, name: str) -> ViewChange | None:
        """Return the change of a relation on all shards."""
        parts = [
            view_change(shard.states[name], delta, shard.store.interner)
            for shard in self.shards
            if (delta := shard.states[name].delta) is not None
        ]
        if not parts:
            return None
        inserted, deleted, rows = (sum(getattr(p, what) for p in parts) for what in ("inserted", "deleted", "rows"))
        return ViewChange(inserted, deleted, rows, lambda: together(part.to_arrow() for part in parts))


class GroupRounds:
    """Runs the rounds of a recursion on shards in one process: the messages of a stage are the mail of the next one."""

    def __init__(self, shards: Sequence[Shard], step: Iterate) -> None:
        self._shards, self._step = shards, step

    def first(self) -> RoundId | None:
        """Return the first round with pending entries on any shard."""
        firsts = (shard.rounds[self._step.stratum].queue.first() for shard in self._shards)
        return min((first for first in firsts if first is not None), default=None)

    @property
    def waiting(self) -> int:
        """Return the number of pending rows on all shards."""
        return sum(shard.rounds[self._step.stratum].queue.waiting for shard in self._shards)

    def take(self, now: RoundId) -> int:
        """Run a round on all shards."""
        mail: Mail = {}
        for stage in range(len(self._step.stages)):
            sent = (shard.run_round(self._step, stage, now, mail.get(shard.number, {})) for shard in self._shards)
            mail = mail_of([message for messages in sent for message in messages])
        for shard in self._shards:
            shard.end_round(self._step, mail.get(shard.number, {}))
        reached = max(shard.rounds[self._step.stratum].reached for shard in self._shards)
        return reached if reached == now.iteration else -1

    def closing(self) -> Sequence[ClosingRelations]:
        """Return the relations that close the cycles, on each shard."""
        return closing_of(self._shards, self._step)


def closing_of(shards: Iterable[Shard], step: Iterate) -> Sequence[ClosingRelations]:
    """Return the relations that close the cycles of a recursion, on each shard."""
    return [ClosingRelations({shown(n): s.states[n] for n in step.closing}, s.store.interner) for s in shards]


# What shards have together


def empty_relations(plan: ShardPlan, stores: Sequence[Store]) -> Collection[str]:
    """Return the relations that searches need and that have no rows in these stores of all shards."""
    return frozenset(n for n in plan.needs if not any(store.states[n].contents.runs for store in stores))


def summed(reports: Iterable[ComponentReport]) -> Iterator[ComponentReport]:
    """Yield one report for each recursion, with summed numbers and the first one's action and reason."""
    result: dict[tuple[str, ...], list[ComponentReport]] = defaultdict(list)
    for report in reports:
        result[report.relations].append(report)
    for same in result.values():
        sums: dict[str, Any] = {
            what: sum(getattr(report, what) for report in same)
            for what in ("rows_in", "rows_out", "rows_visited", "seconds", "state_bytes")
        }
        yield replace(same[0], **sums)
