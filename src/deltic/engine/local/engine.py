"""The local engine: an incremental circuit in one process, over packed rows in sorted runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.batches import Changed
from deltic.engine.changes import Changes
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection, exclusive
from deltic.engine.image import Image, Json, Saved
from deltic.engine.keyed import plain
from deltic.engine.local import parallel
from deltic.engine.local.attempts import Attempts, Grow
from deltic.engine.local.boundary import Boundary
from deltic.engine.local.contents import Contents
from deltic.engine.local.evolution import kept_relations, passed_to_new
from deltic.engine.local.explain import explain, summary
from deltic.engine.local.forgetting import Forgetting
from deltic.engine.local.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.local.operators.binding import value_of
from deltic.engine.local.operators.query import Alarm, Environment, Evaluation
from deltic.engine.local.plan.planner import plans_of
from deltic.engine.local.plans import PLAN, Plans
from deltic.engine.local.recursion.refresh import AUTO, Refresh
from deltic.engine.local.recursion.strategy import Strategies, Strategy
from deltic.engine.local.storage import spilling
from deltic.engine.local.storage.arrow import (
    Encoded,
)
from deltic.engine.local.storage.image import image_of, restored
from deltic.engine.local.storage.spilling import Space
from deltic.engine.local.storage.state import Snapshot, State
from deltic.engine.local.storage.store import Store
from deltic.engine.local.strata import Strata
from deltic.engine.local.version import LocalVersion
from deltic.engine.phases import Phases
from deltic.engine.prepared import Prepared, prepared_by, refuse_second
from deltic.engine.protocol import NOTHING, Engine
from deltic.engine.resources import Resources
from deltic.engine.result import ComponentReport, EpochResult, Extension
from deltic.engine.size import Size
from deltic.errors import UnsupportedError
from deltic.program.compiling import Compiler
from deltic.program.program import Program

if TYPE_CHECKING:
    from sqlglot import exp


# How many times as many rows an epoch visits before a plan is reviewed with which it began again.
_LATER = 16


_PINNED = "the plan stays as it is from now on: what has been forgotten could not be computed in another way"


class _Revised(Exception):
    """The epoch is to restart with these plans."""

    def __init__(self, plans: Plans) -> None:
        self.plans = plans


class LocalEngine(Engine):
    """Runs a circuit in this process; see `Engine` for the protocol.

    Raises UnsupportedError when the circuit has no derivative or the engine cannot run it. `strategies` are those of
    chosen recursive views, and of what is mutually recursive with them; the others have `strategy`. An epoch with a
    recursion of more than `iteration_limit` iterations, or of `recursion_timeout` seconds, is rejected. `resources` are
    what it may use of the machine.
    """

    def __init__(
        self,
        circuit: Circuit,
        strategy: Strategy = Strategy.NESTED,
        refresh: Refresh = AUTO,
        iteration_limit: int = ITERATION_LIMIT,
        recursion_timeout: float | None = RECURSION_TIMEOUT,
        strategies: Mapping[str, Strategy] | None = None,
        thresholds: Thresholds = DEFAULTS,
        resources: Resources | None = None,
        plans: Plans | None = None,
        compiler: Compiler | None = None,
    ) -> None:
        self._strategy, self._chosen, self._refresh = strategy, dict(strategies or {}), refresh
        self._iteration_limit, self._recursion_timeout = iteration_limit, recursion_timeout
        self._thresholds = thresholds
        self._components: tuple[ComponentReport, ...] = ()
        self.epoch, self.token = 0, ""
        self._prepared: Prepared | None = None
        self.extension: Extension | None = None
        self.section = CriticalSection()
        """What lets one thread at a time work on the state, and interrupts wait."""
        used = resources or Resources()
        self._threads = used.threads
        self._plans = replace(plans or Plans(), circuit=circuit)
        self._compiler = compiler or Compiler()
        self._set_up(circuit, self._program_of(circuit), Store(Space(used.spill, used.memory)))
        self.version = LocalVersion.of(0, self.program, self.store)

    def _set_up(self, circuit: Circuit, program: Program, store: Store) -> None:
        """Be ready to run a program over the relations of a store, and those that are new."""
        self.circuit, self.program, self.store = circuit, program, store
        bags = [table for table, is_set in _are_sets(circuit).items() if not is_set]
        store.define(program, self._value_of, bags)
        self.states = store.states
        self._environment = Environment(
            self.states,
            store.interner,
            iteration_limit=self._iteration_limit,
            recursion_timeout=self._recursion_timeout,
            thresholds=self._thresholds,
            inner_engine=partial(LocalEngine, iteration_limit=self._iteration_limit),
        )
        self.evaluations = [
            Evaluation(plan, store.domains.variables[rule], self._environment)
            for rule in program.rules
            for plan in plans_of(rule)
        ]
        self._strategies = self._strategies_of(program)
        self._strata = Strata(
            program, self.states, self.evaluations, self._strategies, self._refresh, self._environment
        )
        self._forgetting = Forgetting(program, self.states, self.store.interner)
        self._fewer: list[State] = []
        self._boundary, self._contents = Boundary(program, store), Contents(program, self.states, store.interner)
        self._attempts = Attempts(program, store, self._environment.faults)

    def _program_of(self, circuit: Circuit) -> Program:
        return self._compiler.program(circuit, strict=self._refresh.strict)

    def _strategies_of(self, program: Program) -> Strategies:
        """How the recursions of a program are maintained; a hidden view is a relation of that name."""
        named = {view: program.sinks.get(view, view) for view in self._chosen}
        return Strategies(self._strategy, {named[view]: strategy for view, strategy in self._chosen.items()})

    def _value_of(self, literal: exp.Expression) -> int:
        return value_of(literal, self.store.interner)

    # Epochs

    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        return prepared_by(lambda prepared: self._prepare(prepared, changes, conflicts, token))

    @exclusive
    def _prepare(
        self, prepared: list[Prepared], changes: Mapping[str, Changed], conflicts: Conflicts, token: str
    ) -> None:
        """Add the epoch to `prepared`."""
        started, phases = time.perf_counter(), Phases()
        refuse_second(self._prepared)
        self._environment.visits.rows = 0
        with self._working():
            weighed = {t: plain(t, batch, self.version, conflicts) for t, batch in changes.items()}
            batches = self._boundary.encoded(weighed)
            phases.end("encoding")
            engine, before, deltas = self._planned_epoch(batches, conflicts)
        phases.end("evaluation")
        replanned = None
        if engine is not self:
            replanned = engine._plans.decisions
            vars(self).update(vars(engine))
        version = self._version_of(self.epoch + 1)
        rows_in = sum(len(d) for name in changes if (d := self.states[self.program.tables[name]].delta))
        self.store.end_epoch()
        phases.end("version")
        seconds = time.perf_counter() - started
        visited = self._environment.visits.rows
        result = EpochResult(
            deltas, rows_in, visited, seconds, self._components, decisions=replanned, phases=phases.seconds
        )

        def commit() -> None:
            self.epoch, self.token, self._prepared = version.epoch, token, None
            self._publish(version)
            self._forgetting.commit()
            self.store.space.settle()

        def abort() -> None:
            self._prepared = None
            self.store.roll_back(before)
            self.store.space.settle()

        self._prepared = Prepared(version, token, result, commit, abort)
        prepared.append(self._prepared)

    def _version_of(self, epoch: int) -> LocalVersion:
        return self.version.following(epoch, self.program, self.store, self._fewer)

    def _publish(self, version: LocalVersion) -> None:
        self.version, self.store.repacked = version, {}

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Use the resources of this engine."""
        with spilling.using(self.store.space), parallel.using(self._threads):
            yield

    @exclusive
    def extend(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> EpochResult:
        started = time.perf_counter()
        refuse_second(self._prepared)
        held = {table: self._contents.held(table) for table in self.program.tables if table not in rows}
        known = {**held, **self._plans.of_recursions(self._contents.recursive())}
        self.store.fit()
        other = copy(self)
        plans = self._plans.settled if self._forgetting.has_forgotten else self._plans
        other._plans = replace(plans.extended(circuit, known, self._contents.relations()), costs=self._plans.costs)
        program = self._program_of(other._plans.circuit)
        with self._working():
            kept = other._evolve(self, circuit, program, rows)
            batches = other._boundary.encoded(rows)
            other._boundary.make_room(batches)
        new = tuple(name for name in program.relations if name not in kept)
        with self._working():
            found = other._attempts.settled(partial(other._begin, self, new, kept, batches), self.store.fit)
        other.store.end_epoch()
        other.epoch += 1
        other._publish(other._version_of(other.epoch))
        gone = self.program.relations.keys() - kept.values() - program.relations.keys()
        dropped = tuple(name for name in self.program.relations if name in gone)
        other.extension = Extension(new, tuple(kept), dropped, partial=self._forgetting.partial(program, kept))
        vars(self).update(vars(other))  # CPython 3.13 loses attributes of an object that is given another's __dict__
        self.store.space.settle()
        seconds = time.perf_counter() - started
        return EpochResult(found[1], 0, self._environment.visits.rows, seconds, self._components, self.extension)

    def _evolve(
        self, old: LocalEngine, circuit: Circuit, program: Program, begun: Collection[str] = ()
    ) -> dict[str, str]:
        """Be what goes on with another program, apart from the old engine: the relations that are kept.

        Nothing is kept of tables that are `begun` anew.
        """
        strategies = self._strategies_of(program)
        before = _are_sets(old.circuit)
        changed = [
            old.program.tables[t]
            for t, is_set in _are_sets(circuit).items()
            if t in before and (before[t] is not is_set or t in begun)
        ]
        kept = kept_relations(
            old.program, program, lambda new, was: strategies.of(new) is old._strategies.of(was), changed
        )
        self._set_up(circuit, program, old.store.evolved((program.relations[new], was) for new, was in kept.items()))
        self.store.end_evolution()
        self._strata.adopt(old._strata, kept)
        return kept

    def _begin(
        self,
        old: LocalEngine,
        new: Collection[str],
        kept: Mapping[str, str],
        batches: Mapping[str, Encoded],
        grow: Grow,
    ) -> Changes:
        """The epoch in which new relations begin, tables of them with these batches.

        Its changes are those of the views from what they were in the old engine.
        """
        self._boundary.change_tables(batches, "trust")
        self._components = self._strata.run(grow, new)
        for name, was in kept.items():
            made = [a for order, a in self.states[name].built.items() if order not in old.states[was].built]
            self._environment.visits.rows += sum(map(len, made))
        return self._boundary.changes_from(old._boundary, kept)

    # Plans

    def _planned_epoch(
        self, batches: Mapping[str, Encoded], conflicts: Conflicts
    ) -> tuple[LocalEngine, Snapshot, Changes]:
        """The epoch with a plan for it: what ran it, the state before, and the changes of the views."""
        rows = {table: self._contents.held(table) + len(weights) for table, (_, weights) in batches.items()}
        if self._forgetting.has_forgotten or not self._plans.is_due(rows):
            return self, *self._run_epoch(batches, conflicts)
        engine, visited = self._replanned(rows, batches), 0
        while True:
            found = engine._reviewed_epoch(self._plans.review + _LATER * visited, batches, conflicts)
            visited += engine._environment.visits.rows
            if not isinstance(found, Plans):
                engine._environment.visits.rows = visited
                return engine, *found
            engine = self._with(found)

    def _reviewed_epoch(
        self, review: int, batches: Mapping[str, Encoded], conflicts: Conflicts
    ) -> tuple[Snapshot, Changes] | Plans:
        """The epoch; or the plans with which it is to restart, found when it had visited so many rows."""
        if self._plans.unknown:
            self._environment.alarm = Alarm(review, self._review)
        try:
            return self._run_epoch(batches, conflicts)
        except _Revised as revised:
            return revised.plans
        finally:
            self._environment.alarm = Alarm()

    def _review(self) -> None:
        """Raise _Revised where what recursive relations have by now makes a plan pay that restarts.

        Once in each try, for the relations are sorted to count their values.
        """
        visited = self._environment.visits.rows
        self._environment.alarm = Alarm()
        plans = self._plans.revised(self.circuit, self._contents.recursive(), self._contents.relations(), visited)
        if plans is not None:
            raise _Revised(plans)

    def _replanned(self, rows: Mapping[str, int], batches: Mapping[str, Encoded]) -> LocalEngine:
        """What is to run the epoch in which tables get so many rows: another engine where a new plan pays."""
        held = {table: self._contents.held(table) for table in self.program.tables}
        self.store.fit()
        known = {**held, **rows, **self._plans.of_recursions(self._contents.recursive())}
        plans = self._plans.anew(self.circuit, known, self._contents.relations(batches))
        added, there = sum(rows[table] - held[table] for table in rows), sum(held.values())
        if plans.circuit == self._plans.circuit or not plans.pays(self._plans, there, added):
            self._plans = replace(self._plans, rows=plans.rows, numbers=plans.numbers, unknown=plans.unknown)
            return self
        return self._with(plans)

    def _with(self, plans: Plans) -> LocalEngine:
        """An engine with another plan.

        It has the views of this one, as they are, and shares no state with it that either would change.
        """
        other = copy(self)
        other._plans = plans
        program = self._program_of(plans.circuit)
        kept = other._evolve(self, self.circuit, program)
        if any(len(state.contents) for state in self.states.values()):
            other._attempts.settled(
                partial(other._build, [name for name in program.relations if name not in kept]), self.store.fit
            )
            other.store.end_epoch()
        return other

    def _build(self, new: Collection[str], grow: Grow) -> Changes:
        """The epoch in which new relations begin; no view changes."""
        self._boundary.change_tables({}, "error")
        self._components = self._strata.run(grow, new)
        return Changes({})

    def _run_epoch(self, batches: Mapping[str, Encoded], conflicts: Conflicts) -> tuple[Snapshot, Changes]:
        """The state before and the changes of the views."""
        self._boundary.make_room(batches)
        constants = [state.relation.name for state in self._boundary.pending_constants()]
        changed = frozenset([*(self.program.tables[name] for name in batches), *constants])
        relations = self._strata.may_change(changed)
        return self._attempts.settled(partial(self._epoch, batches, conflicts), relations=relations)

    def _epoch(self, batches: Mapping[str, Encoded], conflicts: Conflicts, grow: Grow) -> Changes:
        self._fewer = self._forgetting.run()
        self._boundary.change_tables(batches, conflicts)
        self._components = self._strata.run(grow)
        return self._boundary.view_changes()

    # What is written

    @exclusive
    def capture(self) -> Image:
        refuse_second(self._prepared)
        self.store.fit()
        image = image_of(self.store)
        return replace(image, about={**self._about(), "store": image.about})

    def _about(self) -> dict[str, Json]:
        return {
            "epoch": self.epoch,
            "token": self.token,
            "plan": self._plans.described(self.circuit),
            "learned": self._strata.learned(),
            "tables": self.program.tables,
            "views": self.program.sinks,
        }

    @exclusive
    def restore(self, saved: Saved, tables_alone: bool = False) -> None:
        about, other = saved.about, copy(self)
        other._plans = self._plans.restored(about["plan"], self.circuit)
        program = self._program_of(other._plans.circuit)
        with self._working():
            wanted = set(program.tables.values()) if tables_alone else program.relations.keys()
            store = restored(replace(saved, about=about["store"]), program, wanted, self.store.space)
            store.drop(passed_to_new(program, store.states) & store.states.keys())
            new = [name for name in program.relations if name not in store.states]
            other._set_up(self.circuit, program, store)
            store.end_evolution()
            other._strata.learn(about["learned"])
            if new:
                other._attempts.settled(partial(other._build, new), other.store.fit)
                store.end_epoch()
        there = {name: name for name in program.relations if name not in new}
        if not tables_alone and (views := other._forgetting.partial(program, there)):
            raise UnsupportedError(
                f"view {next(iter(views))} is computed in another way than when the state was written, by another "
                f"Deltic or with another function, and rows of {', '.join(next(iter(views.values())))} that it needs "
                "have been forgotten: open the state with what wrote it"
            )
        other.epoch, other.token = about["epoch"], about["token"]
        other._publish(other._version_of(other.epoch))
        vars(self).update(vars(other))

    # Reading

    @exclusive
    def forgotten(self, view: str) -> tuple[str, ...]:
        return self._forgetting.tables(self.program.below(self.program.sinks[view]))

    @exclusive
    def explain(self, name: str, full: bool = False) -> str:
        tell = explain if full else summary
        told = tell(self.circuit, name, self.program, self.states, self.evaluations, self._strategies)
        below = self.program.below(self.program.sinks[name])
        if forgotten := list(self._forgetting.lines(below)):
            forgotten += [_PINNED] * self._forgetting.has_forgotten
            told += "\n\nwhat watermarks leave behind:\n" + "\n".join(f"  {line}" for line in forgotten)
        if lines := self._plans.lines(below, self.states, self.evaluations):
            told += f"\n\n{PLAN}:\n" + "\n".join(f"  {line}" for line in lines)
        if self.extension is None:
            return told
        concerned = self.extension.of(below)
        return f"{told}\n\nthe last change of definitions {concerned}"

    @exclusive
    def sizes(self) -> list[Size]:
        return list(self.store.listed())

    @property
    def nbytes(self) -> int:
        """The memory of all runs, in bytes."""
        return self.store.nbytes


def _are_sets(circuit: Circuit) -> dict[str, bool]:
    """The tables, and which of them are sets."""
    return {op.name: op.is_set for op in circuit.operators if isinstance(op, ops.Source)}
