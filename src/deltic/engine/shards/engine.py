"""The engine on shards: which program they have, how it is placed, and its epochs one by one, by any executor."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltic.circuit.graph import Circuit
from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection, exclusive
from deltic.engine.image import Image, Saved
from deltic.engine.local.recursion.refresh import AUTO, Refresh
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.prepared import Prepared, prepared_by, refuse_second
from deltic.engine.protocol import Engine
from deltic.engine.result import Extension
from deltic.engine.shards.building import after
from deltic.engine.shards.executor import Executor, MakeExecutor
from deltic.engine.shards.images import image_of_shards, refuse_other
from deltic.engine.shards.options import Options
from deltic.engine.shards.placed_program import PlacedProgram
from deltic.engine.shards.plan import ShardPlan
from deltic.engine.shards.process import ProcessExecutor
from deltic.engine.shards.program import NO_CHANGES, ShardedProgram
from deltic.engine.shards.room import Outgrown
from deltic.engine.shards.setting import Setting, ShardDefinition
from deltic.engine.shards.shard import Shard
from deltic.engine.size import Size
from deltic.engine.table_tasks import TableTasks
from deltic.errors import CountOverflowError, IterationLimitError
from deltic.program.program import Program


class ShardedEngine(Engine):
    """Runs a circuit on shards; see `Engine` for the protocol, `Setting` for the options, `Executor` for what runs it.

    Raises UnsupportedError when the circuit has no derivative or no place on shards.
    """

    def __init__(
        self,
        circuit: Circuit,
        strategy: Strategy = Strategy.NESTED,
        refresh: Refresh = AUTO,
        executor: MakeExecutor = ProcessExecutor,
        **options: Any,
    ) -> None:
        self.section = CriticalSection()
        """What lets one thread at a time work on the state, and interrupts wait."""
        self.epoch, self.token = 0, ""
        self._prepared: Prepared | None = None
        self.extension: Extension | None = None
        self._ways: dict[tuple[str, ...], str] = {}
        self._make_executor = executor
        self.running = self._empty(Setting(strategy, refresh, **options).defined(circuit))
        """The program of the last epoch, whose executor has the state."""
        self.version = self.running.version

    def _empty(self, definition: ShardDefinition) -> ShardedProgram:
        """The program of a definition, without rows."""
        return ShardedProgram(self._make_executor(PlacedProgram.of(definition), self))

    @property
    def prepared(self) -> Prepared | None:
        """The epoch that is neither committed nor aborted."""
        return self._prepared

    @property
    def executor(self) -> Executor:
        """What has the shards, and runs epochs."""
        return self.running.executor

    @property
    def shards(self) -> Sequence[Shard]:
        """The shards, in this process."""
        return self.executor.shards

    @property
    def circuit(self) -> Circuit:
        """What is kept fresh."""
        return self.running.definition.circuit

    @property
    def program(self) -> Program:
        """The program of the circuit."""
        return self.running.program

    @property
    def plan(self) -> ShardPlan:
        """How it is placed."""
        return self.running.placed.plan

    @property
    def options(self) -> Options:
        """What the shards have in common beside the plan."""
        return self.running.placed.options

    @property
    def in_rounds(self) -> frozenset[str]:
        """The relations of recursions that take rounds."""
        return self.running.placed.in_rounds

    @property
    def copied(self) -> Mapping[str, str]:
        """The relations of which every shard has a copy, for they are small beside others, each with the reason."""
        return self.running.copied

    @property
    def tasks(self) -> TableTasks | None:
        return self.executor.tasks

    def checks_keys(self, table: str) -> bool:
        return self.running.placed.has_keys(self.program.tables[table])

    # Epochs

    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        return prepared_by(lambda prepared: self._prepare(prepared, changes, conflicts, token))

    @exclusive
    def _prepare(
        self, prepared: list[Prepared], changes: Mapping[str, Changed], conflicts: Conflicts, token: str
    ) -> None:
        """Add the epoch to `prepared`."""
        started = time.perf_counter()
        refuse_second(self._prepared)
        try:
            executed = self.running.run(changes, conflicts)
        except (IterationLimitError, CountOverflowError) as error:
            raise error.told_of(self.program.views_over(error.relations[0])) from None
        rows_in = sum(executed.rows_in(self.program.tables[table]) for table in changes)
        result = replace(executed.result, rows_in=rows_in, seconds=time.perf_counter() - started)

        def commit() -> None:
            with self.section:
                self.epoch, self.token, self._prepared = executed.version.epoch, token, None
                self._ways |= {report.relations: report.way for report in result.components if report.way}
                self.running.go_on(executed)
                self.version = executed.version

        def abort() -> None:
            with self.section:
                self._prepared = None
                executed.abort()

        self._prepared = Prepared(executed.version, token, result, commit, abort)
        prepared.append(self._prepared)

    # Definitions

    def prepare_extension(self, circuit: Circuit, rows: Mapping[str, Changed] = NO_CHANGES) -> Prepared:
        return prepared_by(lambda prepared: self._prepare_extension(prepared, circuit, rows))

    @exclusive
    def _prepare_extension(self, prepared: list[Prepared], circuit: Circuit, rows: Mapping[str, Changed]) -> None:
        """Add the epoch to `prepared`."""
        refuse_second(self._prepared)
        setting = self.running.definition.setting
        while not prepared:
            try:
                self._prepared = self._extended(setting.defined(circuit), rows)
                prepared.append(self._prepared)
            except Outgrown as error:
                setting = replace(setting, outgrown=frozenset(setting.outgrown).union(error.relations))

    def _extended(self, definition: ShardDefinition, rows: Mapping[str, Changed]) -> Prepared:
        """The epoch that goes on with another circuit, whose tables that have rows begin with these."""
        started, running, program = time.perf_counter(), self.running, self.program
        evolution = running.evolution(definition, rows)
        due = running.run_due()
        try:
            built = running.build(definition, evolution, self.epoch + 1)
        except (IterationLimitError, CountOverflowError) as error:
            raise error.told_of(evolution.program.views_over(error.relations[0])) from None
        finally:
            if due is not None:
                due.abort()
        made = built.result
        if due is not None:
            made = after(due.result, made, program, definition.program)
        result = replace(made, extension=evolution.extension, seconds=time.perf_counter() - started)

        def commit() -> None:
            with self.section:
                running.take(built)
                self.epoch, self.version, self._prepared = built.version.epoch, built.version, None
                self.extension = evolution.extension

        def abort() -> None:
            self._prepared = None

        return Prepared(built.version, self.token, result, commit, abort)

    # What is written

    @exclusive
    def capture(self) -> Image:
        refuse_second(self._prepared)
        for shard in self.shards:
            shard.fit()
        about = {
            "epoch": self.epoch,
            "in rounds": sorted(self.in_rounds),
            "copied": dict(self.copied),
            "token": self.token,
            "relations": self.plan.program.fingerprints(),
            "places": self.plan.keys,
            "tables": dict(self.program.tables),
            "views": dict(self.program.sinks),
        }
        return image_of_shards(about, self.shards)

    @exclusive
    def restore(self, saved: Saved, tables_alone: bool = False) -> None:
        about, definition = saved.about, self.running.definition
        setting = definition.setting
        refuse_other(about, self.options.shards)
        copied = {n: why for n, why in about.get("copied", {}).items() if n in self.program.relations}
        written = {"outgrown": about["in rounds"], "copied": copied}
        there = PlacedProgram.of(definition.with_other(**written)).in_rounds
        if setting.rounds != "auto" and there != set(about["in rounds"]):
            restored = self._restored(saved, tables_alone, {"rounds": "auto", **written})
            restored.place(rounds=setting.rounds, outgrown=())
        else:
            restored = self._restored(saved, tables_alone, written)
        if setting.copies is None and restored.copied:
            restored.place(copied={})
        old, self.running, self.version = self.running, restored, restored.version
        self.epoch, self.token = about["epoch"], about["token"]
        self.extension, self._ways = None, {}
        old.executor.discard()

    def _restored(self, saved: Saved, tables_alone: bool, written: Mapping[str, Any]) -> ShardedProgram:
        """The program with a state, and those options with which it was `written`."""
        restored = self._empty(self.running.definition.with_other(**written))
        try:
            restored.load(saved, tables_alone)
        except BaseException as error:
            restored.executor.discard()
            if not isinstance(error, Outgrown):
                raise
            outgrown = {*written["outgrown"], *error.relations}
            return self._restored(saved, tables_alone, {**written, "outgrown": outgrown})
        return restored

    def compact(self) -> bool:
        return self.executor.compact()

    # Reading

    def explain(self, name: str, full: bool = False) -> str:
        below = self.program.below(self.program.sinks[name])
        told = [self.plan.explain(below, self.options.shards)]
        told += [f"{', '.join(names)} {way}" for names, way in self._ways.items() if below.intersection(names)]
        if copied := [f"  {name}: {why}" for name, why in self.copied.items() if name in below]:
            told.append("\n".join([f"copies, whose changes go to all {self.options.shards} shards:", *copied]))
        if self.extension is not None:
            told.append(f"the last change of definitions {self.extension.of(below)}")
        return "\n\n".join(told)

    @exclusive
    def sizes(self) -> list[Size]:
        sizes = ((shard.number, size) for shard in self.shards for size in shard.store.listed())
        return [replace(size, relation=f"{size.relation} on shard {number}") for number, size in sizes]

    @property
    def nbytes(self) -> int:
        """The bytes of the state, in memory or in files."""
        return self.executor.nbytes

    @property
    def resident(self) -> int:
        """The bytes of the state in the memory of this process."""
        return self.executor.resident

    def discard(self) -> None:
        """Remove files, but for those that a version reads: the engine is not used any more."""
        self.executor.discard()
