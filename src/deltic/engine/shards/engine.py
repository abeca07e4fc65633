"""The engine on shards, in one process: which program they have, how it is laid out, and its epochs one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from deltic.circuit.graph import Circuit
from deltic.engine.batches import Changed, TableBatch, rows_of
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection, exclusive
from deltic.engine.image import Image, Json, Saved
from deltic.engine.keyed import plain
from deltic.engine.local.recursion.refresh import AUTO, Refresh
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.storage.store import Store
from deltic.engine.prepared import Prepared, prepared_by, refuse_second
from deltic.engine.protocol import Engine
from deltic.engine.result import EpochResult, Extension
from deltic.engine.shards.building import NOTHING, Built, after, build, evolved, former, is_due, rows_in
from deltic.engine.shards.copies import Survey
from deltic.engine.shards.evolution import Evolution, Former, completion
from deltic.engine.shards.exchange import Parcel
from deltic.engine.shards.extension import weights_of
from deltic.engine.shards.group import ShardGroup
from deltic.engine.shards.images import image_of_shards, places_of, refuse_missing, refuse_other, restored_stores
from deltic.engine.shards.laid import Laid
from deltic.engine.shards.options import Options
from deltic.engine.shards.plan import ShardPlan
from deltic.engine.shards.room import Outgrown
from deltic.engine.shards.setting import Definition, Setting
from deltic.engine.shards.version import ShardsVersion
from deltic.engine.size import Size
from deltic.errors import CountOverflowError, IterationLimitError
from deltic.program.memory import remembered
from deltic.program.program import Program

NO_CHANGES: Mapping[str, Changed] = MappingProxyType({})


@dataclass(frozen=True)
class Executed:
    """An epoch that was run, to be committed or aborted; `rows_in` tells how many rows of a table changed."""

    version: ShardsVersion
    result: EpochResult
    rows_in: Callable[[str], int]
    commit: Callable[[], None]
    abort: Callable[[], None]
    shrunk: frozenset[str] = frozenset()
    """The relations of recursions in rounds for which one task has much room then."""


class ShardedEngine(Engine):
    """Runs a circuit on shards in this process; see `Engine` for the protocol, `Setting` for the options.

    Raises UnsupportedError when the circuit has no derivative or no place on shards.
    """

    def __init__(
        self, circuit: Circuit, strategy: Strategy = Strategy.NESTED, refresh: Refresh = AUTO, **options: Any
    ) -> None:
        self.section = CriticalSection()
        """What lets one thread at a time work on the state, and interrupts wait."""
        self.epoch, self.token = 0, ""
        self._prepared: Prepared | None = None
        self._has_begun = False
        self.extension: Extension | None = None
        self._shrunk: frozenset[str] = frozenset()
        self._ways: dict[tuple[str, ...], str] = {}
        self._hold_nothing(Laid.of(Setting(strategy, refresh, **options).defined(circuit)))
        copies = self._definition.setting.copies
        self._survey = None if copies is None else Survey(copies)

    def _hold_nothing(self, laid: Laid) -> None:
        """Be laid out in this way, without rows."""
        self._laid, self.shards = laid, laid.empty()
        self.version: ShardsVersion = laid.version(0, self._stores())

    @property
    def _definition(self) -> Definition:
        return self._laid.definition

    @property
    def circuit(self) -> Circuit:
        """What is kept fresh."""
        return self._definition.circuit

    @property
    def program(self) -> Program:
        """The program of the circuit."""
        return self._laid.program

    @property
    def plan(self) -> ShardPlan:
        """How it is laid out."""
        return self._laid.plan

    @property
    def options(self) -> Options:
        """What the shards have in common beside the plan."""
        return self._laid.options

    @property
    def in_rounds(self) -> frozenset[str]:
        """The relations of recursions that take rounds."""
        return self._laid.in_rounds

    @property
    def copied(self) -> Mapping[str, str]:
        """The relations of which every shard has a copy, for they are small beside others, each with the reason."""
        return self._definition.setting.copied

    def checks_keys(self, table: str) -> bool:
        return self._laid.has_keys(self.program.tables[table])

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
            executed = self._execute_where_it_fits(changes, conflicts)
        except (IterationLimitError, CountOverflowError) as error:
            raise error.told_of(self.program.views_over(error.relations[0])) from None
        rows_in = sum(executed.rows_in(self.program.tables[table]) for table in changes)
        result = replace(executed.result, rows_in=rows_in, seconds=time.perf_counter() - started)

        def commit() -> None:
            with self.section:
                self.epoch, self.token, self._prepared = executed.version.epoch, token, None
                self.version, self._has_begun, self._shrunk = executed.version, True, executed.shrunk
                self._ways |= {report.relations: report.way for report in result.components if report.way}
                executed.commit()

        def abort() -> None:
            with self.section:
                self._prepared = None
                executed.abort()

        self._prepared = Prepared(executed.version, token, result, commit, abort)
        prepared.append(self._prepared)

    def _execute_where_it_fits(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        """Run an epoch; recursions that grow out of a task on its way are in rounds from then on, and it begins again.

        After any exception the rows are as before.
        """
        visited = self._lay_out_again(outgrown=self.in_rounds - self._shrunk) if self._shrunk else 0
        while True:
            try:
                visited += self._copy_what_pays(changes)
                executed = self._execute(changes, conflicts)
                result = replace(executed.result, rows_visited=executed.result.rows_visited + visited)
                return replace(executed, result=result)
            except Outgrown as found:
                visited += self._lay_out_again(changes, outgrown=self.in_rounds.union(found.relations))

    def _execute(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        """Run an epoch; after any exception the state is as before."""
        group = ShardGroup(self._laid, self.shards)
        result = group.run(self._sent(changes, conflicts), conflicts)
        changed = {name: group.changed_rows(name) for name in self.program.tables.values()}
        version = group.end(self.epoch + 1, self.version)
        shrunk = self._laid.shrunk(group.stores)
        return Executed(version, result, changed.__getitem__, group.keep, group.roll_back, shrunk)

    def _sent(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Iterator[Parcel]:
        """The changes of tables, and the rows of constants in the first epoch, where they belong."""
        yield from self._laid.changed({t: plain(t, batch, self.version, conflicts) for t, batch in changes.items()})
        if not self._has_begun:
            yield from self._laid.constants(self.program.relations)

    def _stores(self) -> list[Store]:
        """The stores of all shards, to be looked into."""
        return [shard.store for shard in self.shards]

    # Other ways

    def _copy_what_pays(self, changes: Mapping[str, Changed]) -> int:
        """Have copies of those relations for which that pays with these changes: how many rows were visited for it."""
        coming = {self.program.tables[table]: rows_of(batch) for table, batch in changes.items()}
        if self._survey is None or not self._survey.is_due(sum(coming.values())):
            return 0
        kept = [name for name in self.program.relations if self.plan.placed[name].kept]
        there = rows_in(self._stores()) if self._has_begun else NOTHING.rows
        copied = self._survey.chosen(self.program, coming, there, kept, self.options.shards, self.copied)
        return self._lay_out_again(changes, copied=copied) if copied.keys() != self.copied.keys() else 0

    def _lay_out_again(self, changes: Mapping[str, Changed] = NO_CHANGES, **options: Any) -> int:
        """Have other options, which lay the program out in another way: how many rows were visited for it.

        What they do not concern stays. Before anything is there, batches of `changes` that are elsewhere stay spread as
        they are; for copies alone nothing is done where they could not, since their rows would pass this process, nor
        where a program that remembers epochs would have anything computed of the rows that there are now.
        """
        definition = self._definition.with_other(**options)
        if not self._has_begun:
            elsewhere = [self.program.tables[t] for t, b in changes.items() if not isinstance(b, pa.Table | TableBatch)]
            laid = Laid.of(definition, {name: (self.plan.placed[name].key,) for name in elsewhere})
            is_moved = any(laid.plan.placed[name].key != self.plan.placed[name].key for name in elsewhere)
            if not is_moved or options.keys() != {"copied"}:
                self._shrunk = frozenset()
                self._hold_nothing(laid)
            return 0
        found = evolved(self._former(definition), self._definition, definition)
        if options.keys() == {"copied"} and found.computes and remembered(self.program):
            return 0
        try:
            built = self._build(definition, found, self.epoch)
        except Outgrown as more:
            outgrown = {*definition.setting.outgrown, *more.relations}
            return self._lay_out_again(**options | {"outgrown": outgrown})
        self._take(built)
        return built.result.rows_visited

    def _former(self, other: Definition, begun: Mapping[str, Changed] = NO_CHANGES) -> Former:
        """What there is for another definition to go on with, whose tables that are `begun` have other rows."""
        return former(self._laid, self._stores(), other, begun) if self._has_begun else NOTHING

    def _build(self, definition: Definition, found: Evolution, epoch: int) -> Built:
        """Compute what a definition wants and is not there, from what is: its version is that of an epoch.

        The state is as before.
        """
        learned = [shard.learned() for shard in self.shards]
        return self._built(Laid(definition, found.plan), found, self._stores(), learned, epoch)

    def _built(
        self, laid: Laid, found: Evolution, stores: Sequence[Store], learned: Sequence[Sequence[Json]], epoch: int
    ) -> Built:
        """What is laid out, of what is in some stores, in this process."""
        shards, result = build(laid, found, stores, learned)

        def take() -> None:
            self._laid, self.shards = laid, shards

        return Built(result, laid.version(epoch, [shard.store for shard in shards]), take)

    def _take(self, built: Built) -> None:
        """Hold what was built."""
        built.take()
        self.version, self._has_begun, self._shrunk = built.version, True, frozenset()

    # Definitions

    def prepare_extension(self, circuit: Circuit, rows: Mapping[str, Changed] = NO_CHANGES) -> Prepared:
        return prepared_by(lambda prepared: self._prepare_extension(prepared, circuit, rows))

    @exclusive
    def _prepare_extension(self, prepared: list[Prepared], circuit: Circuit, rows: Mapping[str, Changed]) -> None:
        """Add the epoch to `prepared`."""
        refuse_second(self._prepared)
        setting = self._definition.setting
        while not prepared:
            try:
                self._prepared = self._extended(setting.defined(circuit), rows)
                prepared.append(self._prepared)
            except Outgrown as error:
                setting = replace(setting, outgrown=frozenset(setting.outgrown).union(error.relations))

    def _extended(self, definition: Definition, rows: Mapping[str, Changed]) -> Prepared:
        """The epoch that goes on with another circuit, whose tables that have rows begin with these."""
        started, program = time.perf_counter(), self.program
        found = evolved(self._former(definition, rows), self._definition, definition)
        due = self._due_epoch()
        try:
            built = self._build(definition, found, self.epoch + 1)
        except (IterationLimitError, CountOverflowError) as error:
            raise error.told_of(found.program.views_over(error.relations[0])) from None
        finally:
            if due is not None:
                due.abort()
        result = built.result if due is None else after(due.result, built.result, program, definition.program)
        result = replace(result, extension=found.extension, seconds=time.perf_counter() - started)

        def commit() -> None:
            with self.section:
                self._take(built)
                self.epoch, self.extension, self._prepared = built.version.epoch, found.extension, None

        def abort() -> None:
            self._prepared = None

        return Prepared(built.version, self.token, result, commit, abort)

    def _due_epoch(self) -> Executed | None:
        """The epoch in which what is due comes, if there is anything, to be given up once its state is taken over."""
        return ShardedEngine._execute(self, {}, "error") if is_due(self.plan, self._stores()) else None

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
        about, setting = saved.about, self._definition.setting
        refuse_other(about, self.options.shards)
        copied = {n: why for n, why in about.get("copied", {}).items() if n in self.program.relations}
        written = {"outgrown": about["in rounds"], "copied": copied}
        there = Laid.of(self._definition.with_other(**written)).in_rounds
        if setting.rounds != "auto" and there != set(about["in rounds"]):
            other = self._restored(saved, tables_alone, {"rounds": "auto", **written})
            other._lay_out_again(rounds=setting.rounds, outgrown=())
        else:
            other = self._restored(saved, tables_alone, written)
        if setting.copies is None and other.copied:
            other._lay_out_again(copied={})
        self._become(other)

    def _restored(self, saved: Saved, tables_alone: bool, written: Mapping[str, Any]) -> ShardedEngine:
        """An engine like this one that has a state, and those options with which it was `written`."""
        other = self._like(**written)
        try:
            other._take_image(saved, tables_alone)
        except Outgrown as found:
            outgrown = {*written["outgrown"], *found.relations}
            return self._restored(saved, tables_alone, {**written, "outgrown": outgrown})
        return other

    def _like(self, **options: Any) -> ShardedEngine:
        """An engine without rows for the same circuit, with the options of this one, but for those that are given."""
        return type(self)(self.circuit, **vars(self._definition.setting) | options)

    def _take_image(self, saved: Saved, tables_alone: bool) -> None:
        """Have, without rows so far, a state that was written by an engine with recursions in the same ways."""
        about = saved.about
        laid = Laid.of(self._definition, places_of(about, self.program))
        stores, learned = restored_stores(saved, laid.plan.program), [said["learned"] for said in about["shards"]]
        refuse_missing(stores, self.program)
        missing = laid.plan.kept - {name for name in laid.plan.kept if all(name in s.states for s in stores)}
        if tables_alone:
            self._hold_nothing(laid)
            tables = {table: weights_of(stores, name) for table, name in self.program.tables.items()}
            self.prepare(tables, "trust").commit()
        elif missing:
            there = laid.plan.kept - missing
            found = completion(self.program, laid.plan, there, self._definition.maintained, rows_in(stores))
            self._take(self._built(laid, found, stores, learned, about["epoch"]))
        else:
            self._laid, self.shards = laid, laid.shards(stores)
            for shard, known in zip(self.shards, learned, strict=True):
                shard.learn(known)
        self.epoch, self.token, self._has_begun = about["epoch"], about["token"], True
        self.version = self._laid.version(self.epoch, self._stores())

    def _become(self, other: ShardedEngine) -> None:
        """Have the state of another engine for the same circuit, which nobody else has then."""
        self._take_rows_of(other)
        self._laid, self.version = other._laid, other.version
        self.epoch, self.token, self._has_begun = other.epoch, other.token, True
        self._survey, self.extension, self._shrunk, self._ways = other._survey, None, other._shrunk, other._ways

    def _take_rows_of(self, other: ShardedEngine) -> None:
        self.shards = other.shards

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
