"""A program over the shards of an executor: an epoch may place it in another way, and definitions make it another one.

What must hold: the executor has the shards of `placed`, and `version` is that of the last epoch that was taken. What
changes definitions, or the placement, is built beside what is there, and taken once it is whole. An engine that takes a
state which was written has another ShardedProgram from then on; where that fails, it has the one of before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from deltic.engine.batches import Changed, TableBatch, rows_of
from deltic.engine.conflicts import Conflicts
from deltic.engine.image import Saved
from deltic.engine.local.storage.store import Store
from deltic.engine.shards.building import NOTHING, build, evolved, former, is_due, rows_in
from deltic.engine.shards.copies import Survey
from deltic.engine.shards.evolution import Former, ShardEvolution, completion
from deltic.engine.shards.executor import Begun, Built, Executed, Executor
from deltic.engine.shards.extension import weights_of
from deltic.engine.shards.images import places_of, refuse_missing, restored_stores
from deltic.engine.shards.placed_program import PlacedProgram
from deltic.engine.shards.process import run_in_process
from deltic.engine.shards.room import Outgrown
from deltic.engine.shards.setting import ShardDefinition
from deltic.engine.shards.version import ShardsVersion
from deltic.program.memory import remembered
from deltic.program.program import Program

NO_CHANGES: Mapping[str, Changed] = MappingProxyType({})


class ShardedProgram:
    """A placed program whose rows an executor has, or none so far; `has_begun` says whether there was an epoch."""

    def __init__(self, executor: Executor) -> None:
        self.executor, self.has_begun = executor, False
        self.shrunk: frozenset[str] = frozenset()
        """The relations of recursions in rounds for which one task has much room."""
        copies = self.definition.setting.copies
        self._survey = None if copies is None else Survey(copies)
        self.version: ShardsVersion = self.placed.version(0, executor.stores())

    @property
    def placed(self) -> PlacedProgram:
        """The program, as it is placed."""
        return self.executor.placed

    @property
    def definition(self) -> ShardDefinition:
        """What is kept, and how."""
        return self.placed.definition

    @property
    def program(self) -> Program:
        """The program of the circuit."""
        return self.placed.program

    @property
    def copied(self) -> Mapping[str, str]:
        """The relations of which every shard has a copy, for they are small beside others, each with the reason."""
        return self.definition.setting.copied

    # Epochs

    def run(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        """Run an epoch; recursions that grow out of a task on its way are in rounds from then on, and it begins again.

        After any exception the rows are as before.
        """
        visited = self.place(outgrown=self.placed.in_rounds - self.shrunk) if self.shrunk else 0
        while True:
            try:
                visited += self._copy_what_pays(changes)
                executed = self.executor.execute(self._begun(changes, conflicts))
                result = replace(executed.result, rows_visited=executed.result.rows_visited + visited)
                return replace(executed, result=result)
            except Outgrown as error:
                visited += self.place(changes, outgrown=self.placed.in_rounds.union(error.relations))

    def run_due(self) -> Executed | None:
        """The epoch in which what is due comes, if there is anything, run in this process; it is to be aborted."""
        if not is_due(self.placed.plan, self.executor.stores()):
            return None
        return run_in_process(self.placed, self.executor.shards, self._begun({}, "error"))

    def _begun(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Begun:
        return Begun(changes, conflicts, self.version, is_first=not self.has_begun)

    def go_on(self, executed: Executed) -> None:
        """Have the rows of an epoch that was run."""
        self.version, self.has_begun, self.shrunk = executed.version, True, executed.shrunk
        executed.commit()

    # Other placements

    def _copy_what_pays(self, changes: Mapping[str, Changed]) -> int:
        """Have copies of those relations for which that pays with these changes: how many rows were visited for it."""
        coming = {self.program.tables[table]: rows_of(batch) for table, batch in changes.items()}
        if self._survey is None or not self._survey.is_due(sum(coming.values())):
            return 0
        placed = self.placed
        kept = [name for name in self.program.relations if placed.plan.placed[name].kept]
        there = rows_in(self.executor.stores()) if self.has_begun else NOTHING.rows
        copied = self._survey.chosen(self.program, coming, there, kept, placed.options.shards, self.copied)
        return self.place(changes, copied=copied) if copied.keys() != self.copied.keys() else 0

    def place(self, changes: Mapping[str, Changed] = NO_CHANGES, **options: Any) -> int:
        """Have other options, which place the program in another way: how many rows were visited for it.

        What they do not concern stays. Before anything is there, batches of `changes` that are elsewhere stay spread as
        they are; for copies alone nothing is done where they could not, since their rows would pass this process, nor
        where a program that remembers epochs would have anything computed of the rows that there are now.
        """
        definition = self.definition.with_other(**options)
        if not self.has_begun:
            self._place_nothing(definition, changes, is_for_copies=options.keys() == {"copied"})
            return 0
        evolution = self.evolution(definition)
        if options.keys() == {"copied"} and evolution.computes and remembered(self.program):
            return 0
        try:
            built = self.build(definition, evolution, self.version.epoch)
        except Outgrown as more:
            outgrown = {*definition.setting.outgrown, *more.relations}
            return self.place(**options | {"outgrown": outgrown})
        self.take(built)
        return built.result.rows_visited

    def _place_nothing(self, definition: ShardDefinition, changes: Mapping[str, Changed], is_for_copies: bool) -> None:
        """Place the program in another way while it has no rows."""
        plan = self.placed.plan
        elsewhere = [self.program.tables[t] for t, b in changes.items() if not isinstance(b, pa.Table | TableBatch)]
        placed = PlacedProgram.of(definition, {name: (plan.placed[name].key,) for name in elsewhere})
        is_moved = any(placed.plan.placed[name].key != plan.placed[name].key for name in elsewhere)
        if not is_moved or not is_for_copies:
            self.shrunk = frozenset()
            self._reset(placed)

    def _reset(self, placed: PlacedProgram) -> None:
        self.executor.reset(placed)
        self.version = placed.version(0, self.executor.stores())

    # Other definitions

    def evolution(self, definition: ShardDefinition, begun: Mapping[str, Changed] = NO_CHANGES) -> ShardEvolution:
        """How to go on with another definition, whose tables that are `begun` have other rows."""
        return evolved(self._former(definition, begun), self.definition, definition)

    def _former(self, other: ShardDefinition, begun: Mapping[str, Changed]) -> Former:
        return former(self.placed, self.executor.stores(), other, begun) if self.has_begun else NOTHING

    def build(self, definition: ShardDefinition, evolution: ShardEvolution, epoch: int) -> Built:
        """Compute what a definition wants and is not there; the state is as before until it is taken."""
        return self.executor.build(PlacedProgram(definition, evolution.plan), evolution, epoch)

    def take(self, built: Built) -> None:
        """Have what was built."""
        built.take()
        self.version, self.has_begun, self.shrunk = built.version, True, frozenset()

    # What was written

    def load(self, saved: Saved, tables_alone: bool) -> None:
        """Have, without rows so far, a state that was written with recursions and copies placed in the same ways."""
        about = saved.about
        placed = PlacedProgram.of(self.definition, places_of(about, self.program))
        stores = restored_stores(saved, placed.plan.program)
        refuse_missing(stores, self.program)
        if tables_alone:
            self._reset(placed)
            tables = {table: weights_of(stores, name) for table, name in self.program.tables.items()}
            self.go_on(self.run(tables, "trust"))
        else:
            self._complete(placed, stores, saved)
        self.has_begun = True
        self.version = self.placed.version(about["epoch"], self.executor.stores())

    def _complete(self, placed: PlacedProgram, stores: list[Store], saved: Saved) -> None:
        """Have what is in some stores, and compute what a plan keeps beside it."""
        learned = [said["learned"] for said in saved.about["shards"]]
        there = {name for name in placed.plan.kept if all(name in store.states for store in stores)}
        if there != placed.plan.kept:
            maintained = self.definition.maintained
            evolution = completion(self.program, placed.plan, there, maintained, rows_in(stores))
            shards, _ = build(placed, evolution, stores, learned)
        else:
            shards = placed.shards(stores)
            for shard, known in zip(shards, learned, strict=True):
                shard.learn(known)
        self.executor.take(placed, shards)
