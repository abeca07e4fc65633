"""The engine on shards, in one process: an exchange between two stages is a list of batches for each shard."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT, limit_error
from deltic.engine.batches import Changed, TableBatch, arrow_of, rows_of
from deltic.engine.changes import Changes, ViewChange
from deltic.engine.conflicts import ConflictError, joined
from deltic.engine.critical_section import CriticalSection, exclusive
from deltic.engine.image import Image, Json, Saved
from deltic.engine.interrupts import postponed
from deltic.engine.local.evolution import Same
from deltic.engine.local.operators.faults import Faults
from deltic.engine.local.recursion.refresh import AUTO, Refresh
from deltic.engine.local.recursion.strategy import Strategies, Strategy
from deltic.engine.local.storage.arrow import view_change
from deltic.engine.local.storage.store import Store
from deltic.engine.local.version import LocalVersion
from deltic.engine.placed import RoundsChoice
from deltic.engine.prepared import Prepared, prepared_by, refuse_second
from deltic.engine.protocol import WEIGHT, ComponentReport, Conflicts, Engine, EpochResult, Extension, Size
from deltic.engine.shards.copies import Copies
from deltic.engine.shards.evolution import Evolution, Former, Rows, completion, evolution
from deltic.engine.shards.exchange import Parcel, parcels
from deltic.engine.shards.extension import consolidated, weights_of
from deltic.engine.shards.images import image_of_shards, places_of, refuse_missing, refuse_other, restored_stores
from deltic.engine.shards.lay_out import lay_out
from deltic.engine.shards.options import Options
from deltic.engine.shards.plan import Iterate, ShardPlan
from deltic.engine.shards.recursion import Maintained
from deltic.engine.shards.room import Outgrown, shrunk, told_in_rounds
from deltic.engine.shards.round_steps import Renumbered
from deltic.engine.shards.rounds import in_rounds
from deltic.engine.shards.shard import Shard
from deltic.engine.shards.version import ShardsVersion, together
from deltic.errors import DelticError, IterationLimitError
from deltic.program.compiling import Compiler
from deltic.program.definitions import Constant
from deltic.program.memory import remembered
from deltic.program.operators.delay import Delayed
from deltic.program.program import Program, Relation

SHARDS = 8
"""How many shards there are where nothing else is said."""

SHARE = 8
"""The part of all rows of tables, as a divisor, that comes until it is measured again what there is."""
NO_COPIES: Mapping[str, str] = MappingProxyType({})
NO_CHANGES: Mapping[str, Changed] = MappingProxyType({})

# What is sent to each shard: batches by the placed relation that they are for.
Mail = dict[int, dict[str, list[pa.Table]]]


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
    """Runs a circuit on shards in this process; see `Engine` for the protocol, `LocalEngine` for the options.

    Recursions that preserve no key take rounds of exchanges over all shards, or are on one of them, as `rounds` says:
    with "auto" those are in rounds that are `outgrown`, which become those that have more than `task_memory` bytes.
    Every shard has a copy of the relations that are `copied`, which become those that `copies` finds to be small.

    Raises UnsupportedError when the circuit has no derivative or no place on shards.
    """

    def __init__(
        self,
        circuit: Circuit,
        strategy: Strategy = Strategy.NESTED,
        refresh: Refresh = AUTO,
        iteration_limit: int = ITERATION_LIMIT,
        strategies: Mapping[str, Strategy] | None = None,
        shards: int = SHARDS,
        rounds: RoundsChoice = "always",
        task_memory: int | None = None,
        outgrown: Collection[str] = (),
        copies: Copies | None = None,
        copied: Mapping[str, str] = NO_COPIES,
        compiler: Compiler | None = None,
    ) -> None:
        self.circuit = circuit
        self._given: dict[str, Any] = {
            "strategy": strategy,
            "refresh": refresh,
            "iteration_limit": iteration_limit,
            "strategies": strategies,
            "shards": shards,
            "rounds": rounds,
            "task_memory": task_memory,
            "outgrown": outgrown,
            "copies": copies,
            "copied": copied,
            "compiler": compiler or Compiler(),
        }
        self._define(circuit)
        self.plan = lay_out(self.program, self._maintained)
        self.section = CriticalSection()
        """What lets one thread at a time work on the state, and interrupts wait."""
        self.epoch, self.token = 0, ""
        self._prepared: Prepared | None = None
        self._has_begun, self._since, self._many = False, 0, 0
        self.extension: Extension | None = None
        self._iterated: list[ComponentReport] = []
        self._shrunk: frozenset[str] = frozenset()
        self._ways: dict[tuple[str, ...], str] = {}
        self.shards = [Shard(number, self.plan, self.options, Store()) for number in range(shards)]
        self.version: ShardsVersion = self._whole_version(0)

    def _define(self, circuit: Circuit) -> None:
        """Be of a circuit, and of its program; the plan is to follow."""
        given = self._given
        program = given["compiler"].program(circuit, strict=given["refresh"].strict)
        self.circuit, self.program = circuit, program
        chosen = {program.sinks.get(view, view): s for view, s in (given["strategies"] or {}).items()}
        kept = Strategies(given["strategy"], chosen)
        bags = frozenset(op.name for op in circuit.operators if isinstance(op, ops.Source) and not op.is_set)
        limits = given["iteration_limit"], given["task_memory"]
        self.options = Options(given["shards"], bags, kept, given["refresh"], *limits)

    @property
    def _maintained(self) -> Maintained:
        """How the program is kept."""
        given = self._given
        outgrown, copied = frozenset(given["outgrown"]), frozenset(given["copied"])
        return Maintained(self.options.strategies, self.options.refresh, given["rounds"], outgrown, copied)

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
        except IterationLimitError as error:
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

    @property
    def in_rounds(self) -> frozenset[str]:
        """The relations of recursions that take rounds."""
        return frozenset(name for step in self.plan.iterated for name in step.stratum.relations)

    def _lay_out_again(self, changes: Mapping[str, Changed] = NO_CHANGES, **options: Any) -> int:
        """Have other options, which lay the program out in another way: how many rows were visited for it.

        What they do not concern stays. Before anything is there, batches of `changes` that are elsewhere stay spread as
        they are; for copies alone nothing is done where they could not, since their rows would pass this process.
        """
        other = copy(self)
        other._given, other._shrunk = self._given | options, frozenset()
        if not self._has_begun:
            elsewhere = [self.program.tables[t] for t, b in changes.items() if not isinstance(b, pa.Table | TableBatch)]
            other.plan = lay_out(self.program, other._maintained, {n: (self.plan.placed[n].key,) for n in elsewhere})
            is_moved = any(other.plan.placed[name].key != self.plan.placed[name].key for name in elsewhere)
            if is_moved and options.keys() == {"copied"}:
                return 0
            other.shards = [Shard(number, other.plan, self.options, Store()) for number in range(self.options.shards)]
            other.version, visited = other._whole_version(0), 0
        else:
            found = evolution(self._given_to(other), self.program, other._maintained, other._maintains_as(self))
            other.plan = found.plan
            try:
                visited = other._build(self, found).rows_visited
            except Outgrown as more:
                outgrown = {*other._given["outgrown"], *more.relations}
                return self._lay_out_again(**options | {"outgrown": outgrown})
        other._take_over(self, self.epoch, self.token)
        return visited

    # Copies

    @property
    def copied(self) -> Mapping[str, str]:
        """The relations of which every shard has a copy, for they are small beside others, each with the reason."""
        copied: Mapping[str, str] = self._given["copied"]
        return copied

    def _copy_what_pays(self, changes: Mapping[str, Changed]) -> int:
        """Have copies of those relations for which that pays with these changes: how many rows were visited for it.

        They are measured again when much has come since the last time.
        """
        copies: Copies | None = self._given["copies"]
        if copies is None:
            return 0
        coming = {self.program.tables[table]: rows_of(batch) for table, batch in changes.items()}
        self._since += sum(coming.values())
        if self._since <= self._many:
            return 0
        self._since, self._many = 0, copies.least // SHARE
        if remembered(self.program):
            return 0
        there = self._given_to(self).rows
        tables = {name: there(name) + coming.get(name, 0) for name in self.program.tables.values()}
        total = sum(tables.values())
        rows = {name: there(name) for name in self._measured} if sum(coming.values()) <= total // SHARE else {}
        copied = copies.chosen(self.program, rows | tables, self.options.shards, self.copied)
        self._many = max(copies.least, total) // SHARE
        return self._lay_out_again(changes, copied=copied) if copied.keys() != self.copied.keys() else 0

    @property
    def _measured(self) -> list[str]:
        """The relations of the program whose rows are kept as they are."""
        return [name for name in self.program.relations if self.plan.placed[name].kept]

    def _execute(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        """Run an epoch; after any exception the state is as before."""
        mail = self._mail_of(changes)
        try:
            self._run_again(mail, conflicts)
            result = self._result()
            version = self._version_of(self.epoch + 1)
        except BaseException:
            self._roll_back()
            raise
        changed = {name: self._changed_rows(name) for name in self.program.tables.values()}
        for shard in self.shards:
            shard.forget_changes()
        return Executed(
            version, result, changed.__getitem__, self._keep, self._roll_back, self._shrunk_in(self._stores())
        )

    def _shrunk_in(self, stores: Sequence[Store]) -> frozenset[str]:
        """The relations of recursions in rounds that these stores have little of, where rounds go by size."""
        limit = self.options.task_memory
        return shrunk(self.plan, stores, limit) if limit is not None else frozenset()

    def _run_again(self, mail: Mail, conflicts: Conflicts) -> None:
        """Take all shards through an epoch, once more where values were numbered anew amid rounds."""
        while True:
            try:
                return self._run(mail, conflicts)
            except Renumbered:
                self._roll_back()

    def _run(self, mail: Mail, conflicts: Conflicts) -> None:
        """Take all shards through the stages of an epoch."""
        empty, self._iterated = self._empty(), []
        for shard in self.shards:
            shard.begin(conflicts, empty)
        for stage, steps in enumerate(self.plan.stages):
            mail = mail_of(self._stage(stage, mail))
            self._iterated += [self._iterate(step) for step in steps if isinstance(step, Iterate)]
        self._refuse(fault for shard in self.shards for fault in shard.environment.faults)
        postponed.check()
        for shard in self.shards:
            shard.end()

    def _empty(self) -> Collection[str]:
        """The relations of which searches need rows, and no shard has any."""
        return empty_relations(self.plan, self._stores())

    def _stage(self, stage: int, mail: Mail) -> list[Parcel]:
        """Take all shards through a stage: what they send."""
        sent: list[Parcel] = []
        errors: list[DelticError] = []
        for shard in self.shards:
            try:
                sent += shard.run(stage, mail.get(shard.number, {}))
            except ConflictError as error:
                errors.append(error)
        if errors:
            raise joined(errors)
        return sent

    def _iterate(self, step: Iterate) -> ComponentReport:
        """Take all shards through the rounds of a recursion."""
        started, visited = time.perf_counter(), self._visited()
        was_empty, rounds = all(shard.is_empty(step) for shard in self.shards), 0
        while (now := first_of(self.shards, step)) is not None:
            check_end(step, now, self.options.iteration_limit)
            take_round(self.shards, step, now)
            rounds += 1
        for shard in self.shards:
            shard.finish_rounds(step)
        return ComponentReport(
            step.stratum.relations,
            Strategy.NESTED.value,
            "bootstrap" if was_empty else "update",
            in_rounds(rounds, len(self.shards)),
            sum(self._changed_rows(name) for name in self.plan.followed(step)),
            sum(self._changed_rows(name) for name in step.stratum.relations),
            self._visited() - visited,
            time.perf_counter() - started,
            sum(shard.states[name].nbytes for shard in self.shards for name in step.timed),
            told_in_rounds(self.plan, step, self._stores(), self.options.task_memory),
        )

    def _visited(self) -> int:
        return sum(shard.environment.visits.rows for shard in self.shards)

    def _keep(self) -> None:
        for shard in self.shards:
            shard.is_repacked = False

    def _roll_back(self) -> None:
        for shard in self.shards:
            shard.roll_back()

    def _mail_of(self, changes: Mapping[str, Changed]) -> Mail:
        """The changes of tables, and the rows of constants in the first epoch, where they belong."""
        sent: list[Parcel] = []
        for table, batch in changes.items():
            name = self.program.tables[table]
            rows = arrow_of(table, batch, self.program.relations[name].schema)
            sent += self._spread(name, rows)
        return mail_of(sent) if self._has_begun else mail_of([*sent, *self._rows_of_constants(self.program.relations)])

    def _rows_of_constants(self, names: Iterable[str]) -> Iterator[Parcel]:
        """The rows of those relations that are constants, where they belong."""
        for name in names:
            if isinstance((relation := self.program.relations[name]).definition, Constant):
                yield from self._spread(name, _rows_of(relation))

    def _spread(self, name: str, rows: pa.Table) -> Iterator[Parcel]:
        return parcels(name, rows, self.plan.placed[name].key, self.options.shards)

    # Definitions

    @exclusive
    def extend(self, circuit: Circuit) -> EpochResult:
        refuse_second(self._prepared)
        outgrown = frozenset(self._given["outgrown"])
        while True:
            try:
                return self._extend(circuit, outgrown)
            except Outgrown as found:
                outgrown = outgrown.union(found.relations)

    def _extend(self, circuit: Circuit, outgrown: frozenset[str]) -> EpochResult:
        """Go on with a circuit, of which the recursions of these relations do not fit into a task."""
        started, other = time.perf_counter(), copy(self)
        other._given, other._shrunk = self._given | {"outgrown": outgrown}, frozenset()
        other._define(circuit)
        found = evolution(self._given_to(other), other.program, other._maintained, other._maintains_as(self))
        other.plan, other._has_begun = found.plan, True
        due = self._due_epoch()
        try:
            result = other._build(self, found)
        except IterationLimitError as error:
            raise error.told_of(found.program.views_over(error.relations[0])) from None
        finally:
            if due is not None:
                due.abort()
        if due is not None:
            result = _after(due.result, result, self.program, other.program)
        other.epoch, other.extension = self.epoch + 1, found.extension
        vars(self).update(vars(other))  # CPython 3.13 loses attributes of an object that is given another's __dict__
        return replace(result, extension=found.extension, seconds=time.perf_counter() - started)

    def _due_epoch(self) -> Executed | None:
        """The epoch in which what is due comes, if there is anything, to be given up once its state is taken over."""
        delayed = [n for n, r in self.plan.program.relations.items() if isinstance(r.definition, Delayed)]
        states = (store.states[name] for store in self._stores() for name in delayed) if delayed else ()
        if any(arrangement.runs for state in states for arrangement in state.auxiliary.values()):
            return ShardedEngine._execute(self, {}, "error")
        return None

    def _given_to(self, other: ShardedEngine) -> Former:
        """What there is for another engine to go on with."""
        if not self._has_begun:
            return Former(Program({}, (), (), {}, {}), ShardPlan(Program({}, (), (), {}, {}), {}, ()), lambda name: 0)
        stores, tables = self._stores(), self.program.tables
        turned = self.options.bags ^ other.options.bags
        changed = [tables[table] for table in turned if table in tables and table in other.program.tables]
        return Former(self.program, self.plan, lambda name: sum(len(s.states[name].contents) for s in stores), changed)

    def _maintains_as(self, old: ShardedEngine) -> Same:
        """Whether this engine keeps a recursion as an old one has, by the names of its relations here and there."""
        return lambda new, was: self.options.strategies.of(new) is old.options.strategies.of(was)

    def _build(self, old: ShardedEngine, found: Evolution) -> EpochResult:
        """Have what stays of an old engine, and compute the rest: how the views change by it."""
        return self._build_here(old.epoch + 1, [shard.store for shard in old.shards], _learned(old.shards), found)

    def _build_here(
        self, epoch: int, stores: Sequence[Store], learned: Sequence[Sequence[Json]], found: Evolution
    ) -> EpochResult:
        """Have what stays in some stores, and compute the rest in this process."""
        builder = copy(self)
        builder.program, builder.plan = found.program, found.building
        relations = found.building.program.relations
        pairs = [(relations[name], was) for name, was in found.taken.items()]
        builder.shards = [
            Shard(number, found.building, self.options, _evolved(store, pairs)) for number, store in enumerate(stores)
        ]
        builder._run_again(mail_of(builder._rows_of_constants(found.constants)), "trust")
        result = builder._result()
        built = zip(builder.shards, stores, strict=True)
        made = sum(_made_orders(new.store, before, found.taken) for new, before in built)
        for shard in builder.shards:
            shard.forget_changes()
        stay = [(r, name) for name, r in self.plan.program.relations.items() if self.plan.placed[name].kept]
        self.shards = [Shard(b.number, self.plan, self.options, b.store.evolved(stay)) for b in builder.shards]
        for shard, known in zip(self.shards, learned, strict=True):
            shard.learn([each for each in known if all(found.taken.get(name) == name for name in each[0])])
        self.version = self._whole_version(epoch)
        return replace(result, rows_visited=result.rows_visited + made)

    def _stores(self) -> list[Store]:
        """The stores of all shards, to be looked into."""
        return [shard.store for shard in self.shards]

    def _like(self, circuit: Circuit, **options: Any) -> ShardedEngine:
        """An engine for a circuit, without rows, and with the options of this one, but for those that are given."""
        return type(self)(circuit, **self._given | options)

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
        about, rounds = saved.about, self._given["rounds"]
        refuse_other(about, self.options.shards)
        copied = {n: why for n, why in about.get("copied", {}).items() if n in self.program.relations}
        written = {"outgrown": about["in rounds"], "copied": copied}
        other = self._like(self.circuit, **written)
        if rounds != "auto" and other.in_rounds != set(about["in rounds"]):
            other = self._like(self.circuit, rounds="auto", **written)
            other.restore(saved, tables_alone)
            other._lay_out_again(rounds=rounds, outgrown=())
        else:
            other = self._restored(saved, tables_alone, written)
        if self._given["copies"] is None and other.copied and not remembered(other.program):
            other._lay_out_again(copied=NO_COPIES)
        other._take_over(self, about["epoch"], about["token"])

    def _restored(self, saved: Saved, tables_alone: bool, written: Mapping[str, Any]) -> ShardedEngine:
        """An engine like this one that has a state, and those options with which it was `written`."""
        other = self._like(self.circuit, **written)
        try:
            other._take_image(saved, tables_alone)
        except Outgrown as found:
            outgrown = {*written["outgrown"], *found.relations}
            return self._restored(saved, tables_alone, {**written, "outgrown": outgrown})
        return other

    def _take_image(self, saved: Saved, tables_alone: bool) -> None:
        """Have, without rows so far, a state that was written by an engine with recursions in the same ways."""
        about = saved.about
        self.plan = lay_out(self.program, self._maintained, places_of(about, self.program))
        stores, learned = restored_stores(saved, self.plan.program), [said["learned"] for said in about["shards"]]
        refuse_missing(stores, self.program)
        missing = self.plan.kept - {name for name in self.plan.kept if all(name in s.states for s in stores)}
        if tables_alone:
            self.shards = [Shard(n, self.plan, self.options, Store()) for n in range(self.options.shards)]
            tables = {table: weights_of(stores, name) for table, name in self.program.tables.items()}
            self.prepare(tables, "trust").commit()
        elif missing:
            found = completion(self.program, self.plan, self.plan.kept - missing, self._maintained, _rows_in(stores))
            self._build_here(about["epoch"], stores, learned, found)
        else:
            self.shards = [Shard(n, self.plan, self.options, store) for n, store in enumerate(stores)]
            for shard, known in zip(self.shards, learned, strict=True):
                shard.learn(known)
            self.version = self._whole_version(about["epoch"])
        self._has_begun = True

    def _take_over(self, old: ShardedEngine, epoch: int, token: str) -> None:
        """Let the old engine be this one, at an epoch."""
        self.epoch, self.token, self.version.epoch, self.section = epoch, token, epoch, old.section
        for shard in self.version.shards:
            shard.epoch = epoch
        vars(old).update(vars(self))  # CPython 3.13 loses attributes of an object that is given another's __dict__

    # Results

    def _result(self) -> EpochResult:
        found = {view: change for view, name in self.program.sinks.items() if (change := self._change(name))}
        reports = (*summed(report for shard in self.shards for report in shard.reports), *self._iterated)
        return EpochResult(Changes(found), rows_visited=self._visited(), components=reports)

    def _changed_rows(self, name: str) -> int:
        deltas = (shard.states[name].delta for shard in self.shards)
        return sum(len(delta) for delta in deltas if delta is not None)

    def _change(self, name: str) -> ViewChange | None:
        """The change of a relation on all shards."""
        parts = [
            view_change(shard.states[name], delta, shard.store.interner)
            for shard in self.shards
            if (delta := shard.states[name].delta) is not None
        ]
        if not parts:
            return None
        inserted, deleted, rows = (sum(getattr(p, what) for p in parts) for what in ("inserted", "deleted", "rows"))
        return ViewChange(inserted, deleted, rows, lambda: together(part.to_arrow() for part in parts))

    def _refuse(self, faults: Iterable[tuple[str, str, int]]) -> None:
        """Raise an EvaluationError where a row has no value: faults of different shards may cancel."""
        total = Faults()
        for relation, message, weight in faults:
            total.add(self.plan.placed[relation].home, message, weight)
        total.refuse(self.program.views_over)

    # Reading

    def _whole_version(self, epoch: int) -> ShardsVersion:
        """The tables and views as they are."""
        return ShardsVersion(epoch, [LocalVersion.of(epoch, self.program, shard.store) for shard in self.shards])

    def _version_of(self, epoch: int) -> ShardsVersion:
        """The version of an epoch, at the cost of the relations that it changes, unless they were packed anew."""
        versions = []
        for shard, before in zip(self.shards, self.version.shards, strict=True):
            if shard.is_repacked:
                versions.append(LocalVersion.of(epoch, self.program, shard.store))
            else:
                versions.append(before.following(epoch, shard.store.changed()))
        return ShardsVersion(epoch, versions)

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


def _rows_in(stores: Sequence[Store]) -> Rows:
    """How many rows a relation has in some stores."""
    return lambda name: sum(len(store.states[name].contents) for store in stores)


def _learned(shards: Iterable[Shard]) -> list[list[Json]]:
    """What the recursions of each shard know of costs."""
    return [shard.learned() for shard in shards]


def _evolved(store: Store, relations: Iterable[tuple[Relation, str]]) -> Store:
    """A store of relations of another one, with the names that they have there, and with all their column orders."""
    other = store.evolved(relations)
    for state in other.states.values():
        state.keep_orders()
    return other


def _made_orders(new: Store, old: Store, taken: Mapping[str, str]) -> int:
    """The rows of column orders that were made of relations which were taken over from another store."""
    pairs = ((new.states[name], old.states[was]) for name, was in taken.items())
    return sum(len(a) for state, before in pairs for order, a in state.built.items() if order not in before.built)


def _after(due: EpochResult, result: EpochResult, old: Program, new: Program) -> EpochResult:
    """What an epoch in which something was due did, and another one after it that has gone on with another program."""
    changes = {view: change for view in result.changes if (change := result.changes.batch(view)) is not None}
    for view in (v for v in due.changes if v in new.sinks):
        first, schema = due.changes.batch(view), old.relations[old.sinks[view]].schema
        if first is not None and new.relations[new.sinks[view]].schema == schema:
            parts = [first, *([changes.pop(view)] if view in changes else [])]
            rows = consolidated(schema, together(part.to_arrow() for part in parts))
            changes |= {view: ViewChange.of(rows)} if rows.num_rows else {}
    visited = due.rows_visited + result.rows_visited
    return replace(result, changes=Changes(changes), rows_visited=visited)


def first_of(shards: Iterable[Shard], step: Iterate) -> int | None:
    """The least iteration for which anything waits on any shard."""
    return min((first for shard in shards if (first := shard.first(step)) is not None), default=None)


def take_round(shards: Sequence[Shard], step: Iterate, now: int, told: list[Parcel] | None = None) -> None:
    """Take all shards through the round of iteration `now`; what it changes is `told`, for who is to adopt it."""
    mail: Mail = {}
    for stage in range(len(step.stages)):
        sent = (shard.run_round(step, stage, now, mail.get(shard.number, {})) for shard in shards)
        mail = mail_of([parcel for parcels in sent for parcel in parcels])
    if told is not None:
        told += [parcel for shard in shards for parcel in shard.changed_in_round(step)]
    for shard in shards:
        shard.end_round(step, mail.get(shard.number, {}))


def check_end(step: Iterate, now: int, limit: int) -> None:
    """Raise IterationLimitError past the limit; at the iteration after it, known rows may be derived again."""
    if now > limit + 1 and step.computing:
        raise limit_error(sorted(step.stratum.relations), step.computing, limit)


def _rows_of(relation: Relation) -> pa.Table:
    """The rows of a constant as a batch."""
    assert isinstance(relation.definition, Constant)
    rows = relation.definition.rows
    columns = [pa.array([row[i] for row in rows], c.type.arrow) for i, c in enumerate(relation.schema)]
    return pa.table([*columns, pa.array([1] * len(rows), pa.int64())], [*relation.schema.names, WEIGHT])


def empty_relations(plan: ShardPlan, stores: Sequence[Store]) -> frozenset[str]:
    """The relations of which searches need rows, and that have none in these stores of all shards."""
    return frozenset(n for n in plan.needs if not any(store.states[n].contents.runs for store in stores))


def summed(reports: Iterable[ComponentReport]) -> Iterator[ComponentReport]:
    """The reports of each recursion as one; the first one's action and reason stand for all."""
    found: dict[tuple[str, ...], list[ComponentReport]] = defaultdict(list)
    for report in reports:
        found[report.relations].append(report)
    for same in found.values():
        sums: dict[str, Any] = {
            what: sum(getattr(report, what) for report in same)
            for what in ("rows_in", "rows_out", "rows_visited", "seconds", "state_bytes")
        }
        yield replace(same[0], **sums)


def mail_of(sent: Iterable[Parcel]) -> Mail:
    """What is sent, by shard and placed relation."""
    mail: Mail = defaultdict(lambda: defaultdict(list))
    for parcel in sent:
        mail[parcel.shard][parcel.target].append(parcel.rows)
    return mail
