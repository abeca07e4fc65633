"""The executor on shards. An epoch may change the placement of its program, and new definitions replace the program.

What must hold: the holder has the shards of `placed`, and `version` is that of the last committed epoch. Changed
definitions or placements are built beside the present state, and installed once complete. A saved state is
loaded by another executor of this kind, so that the old one survives a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from deltic.circuit.graph import Circuit
from deltic.engine.batches import Changed, TableBatch, rows_of
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.executor import Executed, Host, nothing
from deltic.engine.executors.explain import DECISIONS, FORGOTTEN, explain, maintenance, queries, text_of
from deltic.engine.executors.forgetting import NO_MARKS, Forget, ForgottenRows, Marks
from deltic.engine.executors.shards.building import NOTHING, after, build, rows_in
from deltic.engine.executors.shards.copies import Survey
from deltic.engine.executors.shards.evolution import Former, ShardEvolution, completion, evolution
from deltic.engine.executors.shards.images import (
    image_of_shards,
    places_of,
    refuse_missing,
    refuse_other,
    restored_stores,
)
from deltic.engine.executors.shards.placed_program import PlacedProgram
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.process import Begun, MakeHolder, ProcessShards, ShardsExecuted
from deltic.engine.executors.shards.recursion import ShardDefinition
from deltic.engine.executors.shards.shard import Shard
from deltic.engine.executors.shards.task_memory import Outgrown
from deltic.engine.image import Image, Saved
from deltic.engine.maintenance import RelationPlan, Size
from deltic.engine.moving import weights_of
from deltic.engine.options import EngineOptions
from deltic.engine.protocol import NOTHING as NO_CHANGES
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.store import Store
from deltic.engine.table_tasks import TableTasks
from deltic.errors import CountOverflowError, IterationLimitError
from deltic.program.frontiers import remembered
from deltic.program.program import Program


class ShardsExecutor:
    """Has a placed program, whose rows a holder has; `has_begun` says whether there was an epoch.

    See `Executor` for the contract.
    """

    def __init__(self, holder: ProcessShards, make_holder: MakeHolder, host: Host) -> None:
        self.holder, self.has_begun = holder, False
        self._make_holder, self._host = make_holder, host
        self.shrunk: frozenset[str] = frozenset()
        """The relations of recursions in rounds that would fit one task well."""
        copies = self.definition.given.copies
        self._survey = None if copies is None else Survey(copies)
        self._ways: dict[tuple[str, ...], str] = {}
        self._done = NO_MARKS
        """The watermarks by which the present rows were forgotten."""
        self.version: StateVersion = self.placed.version(0, holder.stores())

    @classmethod
    def empty(
        cls, circuit: Circuit, options: EngineOptions, host: Host, holder: MakeHolder = ProcessShards
    ) -> ShardsExecutor:
        """Return an executor of a circuit, without rows. UnsupportedError if shards do not support it."""
        placed = PlacedProgram.of(ShardDefinition.of(circuit, options))
        return cls(holder(placed, host), holder, host)

    @property
    def circuit(self) -> Circuit:
        return self.definition.circuit

    @property
    def placed(self) -> PlacedProgram:
        """The placed program."""
        return self.holder.placed

    @property
    def plan(self) -> ShardPlan:
        """The plan of the placed program."""
        return self.placed.plan

    @property
    def definition(self) -> ShardDefinition:
        """The definition that is maintained."""
        return self.placed.definition

    @property
    def program(self) -> Program:
        return self.placed.program

    @property
    def shards(self) -> Sequence[Shard]:
        """The shards, in this process."""
        return self.holder.shards

    @property
    def stores(self) -> list[Store]:
        return self.holder.stores()

    @property
    def copied(self) -> Mapping[str, str]:
        """The relations with a copy on every shard, because they are small compared to others, each with the reason."""
        return self.definition.copied

    # Epochs

    def run(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        marks = self._forgotten.marks
        try:
            executed = self._run(changes, conflicts, marks)
        except (IterationLimitError, CountOverflowError) as error:
            raise error.naming_views(self.program.views_over(error.relations[0])) from None
        return replace(executed, commit=partial(self._go_on, executed, marks))

    def _run(self, changes: Mapping[str, Changed], conflicts: Conflicts, marks: Marks) -> ShardsExecuted:
        """Run an epoch. A recursion that outgrows a task during the epoch moves to rounds, and the epoch restarts.

        After any exception the rows are as before.
        """
        visited = self.place(outgrown=self.placed.in_rounds - self.shrunk) if self.shrunk else 0
        while True:
            try:
                visited += self._copy_what_pays(changes)
                executed = self.holder.execute(self._begun(changes, conflicts, marks))
                result = replace(executed.result, rows_visited=executed.result.rows_visited + visited)
                return replace(executed, result=result)
            except Outgrown as error:
                visited += self.place(changes, outgrown=self.placed.in_rounds.union(error.relations))

    def _run_due(self) -> ShardsExecuted | None:
        """Run the epoch of due work, if there is any, in this process. The caller must abort it."""
        if not self.plan.is_timed or not any(shard.is_due for shard in self.shards):
            return None
        return self.holder.run_here(self._begun({}, "error", self._forgotten.marks))

    def _begun(self, changes: Mapping[str, Changed], conflicts: Conflicts, marks: Marks) -> Begun:
        forget = None if marks == self._done else Forget(marks, self._done)
        return Begun(changes, conflicts, self.version, not self.has_begun, forget)

    @property
    def _forgotten(self) -> ForgottenRows:
        """What the next epoch forgets."""
        return ForgottenRows.of(self.program, self.definition.frontiers, self.version)

    def _go_on(self, executed: ShardsExecuted, done: Marks) -> None:
        """Make this epoch the present one. It has forgotten rows by these watermarks."""
        self._done = done
        self.version, self.has_begun, self.shrunk = executed.version, True, executed.shrunk
        self._ways |= {report.relations: report.way for report in executed.result.components if report.way}
        executed.commit()

    # Other placements

    def _copy_what_pays(self, changes: Mapping[str, Changed]) -> int:
        """Copy the relations whose copies pay with these changes. Return the number of rows visited for that."""
        coming = {self.program.tables[table]: rows_of(batch) for table, batch in changes.items()}
        if self._survey is None or not self._survey.is_due(sum(coming.values())):
            return 0
        placed = self.placed
        kept = [name for name in self.program.relations if placed.plan.placed[name].kept]
        there = rows_in(self.holder.stores()) if self.has_begun else NOTHING.rows
        copied = self._survey.chosen(self.program, coming, there, kept, placed.options.shards, self.copied)
        return self.place(changes, copied=copied) if copied.keys() != self.copied.keys() else 0

    def place(self, changes: Mapping[str, Changed] = NO_CHANGES, **options: Any) -> int:
        """Switch to other options, which change the placement. Return the number of rows visited for it.

        Placements that the options do not affect stay. Before the first epoch, batches of `changes` that are on shards
        already stay spread as they are. For copies alone nothing is done if such batches would have to move, since
        their rows would pass through this process, nor if a program that remembers epochs would recompute anything from
        present rows.
        """
        definition = replace(self.definition, **options)
        if not self.has_begun:
            self._place_nothing(definition, changes, is_for_copies=options.keys() == {"copied"})
            return 0
        other = self._evolution(definition)
        if options.keys() == {"copied"} and other.computes and remembered(self.program):
            return 0
        try:
            built = self.holder.build(PlacedProgram(definition, other.plan), other, self.version.epoch)
        except Outgrown as more:
            return self.place(**options | {"outgrown": definition.outgrown.union(more.relations)})
        self._take(built)
        return built.result.rows_visited

    def _place_nothing(self, definition: ShardDefinition, changes: Mapping[str, Changed], is_for_copies: bool) -> None:
        """Change the placement of the program while it has no rows."""
        plan = self.placed.plan
        elsewhere = [self.program.tables[t] for t, b in changes.items() if not isinstance(b, pa.Table | TableBatch)]
        placed = PlacedProgram.of(definition, {name: (plan.placed[name].key,) for name in elsewhere})
        is_moved = any(placed.plan.placed[name].key != plan.placed[name].key for name in elsewhere)
        if not is_moved or not is_for_copies:
            self.shrunk = frozenset()
            self._reset(placed)

    def _reset(self, placed: PlacedProgram) -> None:
        self.holder.reset(placed)
        self.version = placed.version(0, self.holder.stores())

    # Other definitions

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed]) -> Executed:
        now, other = self.definition, ShardDefinition.of(circuit, self.definition.given)
        definition = replace(other, rounds=now.rounds, outgrown=now.outgrown, copied=now.copied)
        while True:
            try:
                return self._extended(definition, rows)
            except Outgrown as error:
                definition = replace(definition, outgrown=definition.outgrown.union(error.relations))

    def _extended(self, definition: ShardDefinition, rows: Mapping[str, Changed]) -> Executed:
        """Run the epoch that continues with another definition, whose tables in `rows` start with these rows."""
        other, due = self._evolution(definition, rows), self._run_due()
        try:
            built = self.holder.build(PlacedProgram(definition, other.plan), other, self.version.epoch + 1)
        except (IterationLimitError, CountOverflowError) as error:
            raise error.naming_views(other.program.views_over(error.relations[0])) from None
        finally:
            if due is not None:
                due.abort()
        made = built.result
        if due is not None:
            made = after(due.result, made, self.program, definition.program)
        return Executed(built.version, replace(made, extension=other.extension), partial(self._take, built), nothing)

    def _evolution(self, definition: ShardDefinition, begun: Mapping[str, Changed] = NO_CHANGES) -> ShardEvolution:
        """Return how to continue with another definition, whose `begun` tables start with other rows."""
        if not self.has_begun:
            return evolution(NOTHING, definition)
        placed, rows = self.placed, rows_in(self.holder.stores())
        former = Former(placed.program, placed.plan, placed.options, rows, begun, self._forgotten)
        return evolution(former, definition)

    def _take(self, built: ShardsExecuted) -> None:
        """Install what was built."""
        built.commit()
        self.version, self.has_begun, self.shrunk, self._done = built.version, True, frozenset(), NO_MARKS

    # What is written

    def image(self) -> Image:
        for shard in self.shards:
            shard.store.fit()
        about = {
            "in rounds": sorted(self.placed.in_rounds),
            "copied": dict(self.copied),
            "relations": self.plan.program.fingerprints(),
            "places": self.plan.keys,
        }
        return image_of_shards(about, self.shards)

    def restored(self, saved: Saved, tables_alone: bool) -> ShardsExecutor:
        about, definition = saved.about, self.definition
        refuse_other(about, definition.options.shards)
        outgrown = frozenset(about["in rounds"])
        copied = {n: why for n, why in about.get("copied", {}).items() if n in self.program.relations}
        written = replace(definition, outgrown=outgrown, copied=copied)
        if definition.rounds != "auto" and PlacedProgram.of(written).in_rounds != outgrown:
            restored = self._restored(saved, tables_alone, replace(written, rounds="auto"))
            restored.place(rounds=definition.rounds, outgrown=frozenset())
        else:
            restored = self._restored(saved, tables_alone, written)
        if definition.given.copies is None and restored.copied:
            restored.place(copied={})
        return restored

    def _restored(self, saved: Saved, tables_alone: bool, definition: ShardDefinition) -> ShardsExecutor:
        """Return the executor of a definition with a state that was saved for it."""
        holder = self._make_holder(PlacedProgram.of(definition), self._host)
        restored = ShardsExecutor(holder, self._make_holder, self._host)
        try:
            restored._load(saved, tables_alone)
        except BaseException as error:
            restored.discard()
            if not isinstance(error, Outgrown):
                raise
            outgrown = definition.outgrown.union(error.relations)
            return self._restored(saved, tables_alone, replace(definition, outgrown=outgrown))
        return restored

    def _load(self, saved: Saved, tables_alone: bool) -> None:
        """Load a saved state, with recursions and copies placed in the same ways. There are no rows before."""
        about = saved.about
        placed = PlacedProgram.of(self.definition, places_of(about, self.program))
        stores = restored_stores(saved, placed.plan.program)
        refuse_missing(stores, self.program)
        if tables_alone:
            self._reset(placed)
            tables = {table: weights_of(stores, name) for table, name in self.program.tables.items()}
            self.run(tables, "trust").commit()
        else:
            self._complete(placed, stores, saved)
        self.has_begun = True
        self.version = self.placed.version(about["epoch"], self.holder.stores())

    def _complete(self, placed: PlacedProgram, stores: list[Store], saved: Saved) -> None:
        """Install the rows of some stores, and compute what the plan stores in addition."""
        learned = [said["learned"] for said in saved.about["shards"]]
        there = {name for name in placed.plan.kept if all(name in store.states for store in stores)}
        if there != placed.plan.kept:
            frontiers = self.definition.frontiers
            marks = StateVersion.of(0, self.program, stores, frontiers.watermarks)
            ForgottenRows.of(self.program, frontiers, marks).refuse_partial(there)
            missing = completion(self.definition, placed.plan, there, rows_in(stores))
            shards, _ = build(placed, missing, stores, learned)
        else:
            shards = placed.shards(stores)
            for shard, known in zip(shards, learned, strict=True):
                shard.histories.learn(known)
        self.holder.take(placed, shards)

    @property
    def tasks(self) -> TableTasks | None:
        return self.holder.tasks

    def checks_keys(self, table: str) -> bool:
        return self.placed.has_keys(self.program.tables[table])

    def compact(self) -> bool:
        return self.holder.compact()

    def discard(self) -> None:
        self.holder.discard()

    # Reading

    def forgotten(self, view: str) -> tuple[str, ...]:
        return self._forgotten.tables(self.program.below(self.program.sinks[view]))

    def explain(self, name: str, full: bool) -> str:
        below, count = self.program.below(self.program.sinks[name]), self.definition.options.shards
        sections = [self.plan.explain(below, count)]
        sections += [f"{', '.join(names)} {way}" for names, way in self._ways.items() if below.intersection(names)]
        copied = [f"{name}: {why}" for name, why in self.copied.items() if name in below]
        decisions = [line for shard in self.shards for line in shard.decisions(below)]
        forgotten = list(self._forgotten.lines(below))
        copies = f"copies, whose changes go to all {count} shards"
        more = text_of({copies: copied, FORGOTTEN: forgotten, DECISIONS: decisions})
        sections += filter(None, [more])
        if full:
            sections.append(queries(self.program.sinks[name], self.program, self.maintenance(name)))
        return explain(self.circuit, name, full, (), "\n\n".join(sections))

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        below, plan = self.program.below(self.program.sinks[name]), self.plan
        relations = {relation for relation, placed in plan.placed.items() if placed.home in below}
        parts = [maintenance(relations, shard) for shard in self.shards]
        return tuple(self._spread(RelationPlan.of_shards(same)) for same in zip(*parts, strict=True))

    def _spread(self, plan: RelationPlan) -> RelationPlan:
        """Return a placed relation's plan with its key, and without rows if the shards store none."""
        keeps = plan.keeps if self.plan.placed[plan.relation].kept else RelationKind.TRANSIENT.value
        return replace(plan, keeps=keeps, notes=(f"spread {self.plan.key_text(plan.relation)}", *plan.notes))

    def sizes(self) -> list[Size]:
        sizes = ((shard.number, size) for shard in self.shards for size in shard.store.listed())
        return [replace(size, relation=f"{size.relation} on shard {number}") for number, size in sizes]

    @property
    def nbytes(self) -> int:
        return self.holder.nbytes

    @property
    def resident(self) -> int:
        return self.holder.resident
