"""The local engine: an incremental circuit in one process, over packed rows in sorted runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT, RECURSION_TIMEOUT
from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.critical_section import CriticalSection, exclusive
from deltic.engine.image import Image, Json, Saved
from deltic.engine.keyed import plain
from deltic.engine.local import parallel
from deltic.engine.local.explain import explain, summary
from deltic.engine.local.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.local.operators.query import Evaluation
from deltic.engine.local.options import LocalOptions
from deltic.engine.local.plans import PLAN, Plans
from deltic.engine.local.program import LocalProgram
from deltic.engine.local.recursion.refresh import AUTO, Refresh
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.replanning import run_by_plan
from deltic.engine.local.storage import spilling
from deltic.engine.local.storage.image import image_of
from deltic.engine.local.storage.spilling import Space
from deltic.engine.local.storage.state import State
from deltic.engine.local.storage.store import Store
from deltic.engine.local.version import LocalVersion
from deltic.engine.phases import Phases
from deltic.engine.prepared import Prepared, prepared_by, refuse_second
from deltic.engine.protocol import NOTHING, Engine
from deltic.engine.resources import ResourceLimits
from deltic.engine.result import EpochResult, Extension
from deltic.engine.size import Size
from deltic.program.compiling import Compiler
from deltic.program.program import Program

_PINNED = "the plan stays as it is from now on: what has been forgotten could not be computed in another way"


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
        resources: ResourceLimits | None = None,
        plans: Plans | None = None,
        compiler: Compiler | None = None,
    ) -> None:
        self.epoch, self.token = 0, ""
        self._prepared: Prepared | None = None
        self.extension: Extension | None = None
        self.section = CriticalSection()
        """What lets one thread at a time work on the state, and interrupts wait."""
        used = resources or ResourceLimits()
        self._threads = used.threads
        options = LocalOptions(
            strategy,
            dict(strategies or {}),
            refresh,
            iteration_limit,
            recursion_timeout,
            thresholds,
            compiler or Compiler(),
            inner_engine=partial(LocalEngine, iteration_limit=iteration_limit),
        )
        made = replace(plans or Plans(), circuit=circuit)
        self.running = LocalProgram.empty(circuit, made, options, Space(used.spill, used.memory))
        """The program of the last epoch, whose relations are the state."""
        self.version = LocalVersion.of(0, self.program, self.store)

    @property
    def circuit(self) -> Circuit:
        """What is kept fresh."""
        return self.running.circuit

    @property
    def program(self) -> Program:
        """The program of the circuit, as it is planned."""
        return self.running.program

    @property
    def store(self) -> Store:
        """What has the relations of the program."""
        return self.running.store

    @property
    def states(self) -> Mapping[str, State]:
        """The relations of the program."""
        return self.running.states

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """The queries of the program."""
        return self.running.evaluations

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
        present = self.running
        present.environment.visits.rows = 0
        with self._working():
            weighed = {t: plain(t, batch, self.version, conflicts) for t, batch in changes.items()}
            batches = present.boundary.encoded(weighed)
            phases.end("encoding")
            epoch = run_by_plan(present, batches, conflicts)
        phases.end("evaluation")
        program = epoch.program
        version = self._version_of(program)
        rows_in = sum(len(d) for name in changes if (d := program.boundary.table(name).delta))
        program.store.end_epoch()
        phases.end("version")
        result = EpochResult(
            epoch.changes,
            rows_in,
            program.visited,
            time.perf_counter() - started,
            program.components,
            decisions=None if program is present else program.plans.decisions,
            phases=phases.seconds,
        )

        def commit() -> None:
            self.token = token
            self._go_on(program, version)

        def abort() -> None:
            self._prepared = None
            program.store.roll_back(epoch.before)
            program.store.space.settle()

        self._prepared = Prepared(version, token, result, commit, abort)
        prepared.append(self._prepared)

    def _version_of(self, program: LocalProgram) -> LocalVersion:
        """The version of the epoch that a program has run, after the last one."""
        return self.version.following(self.epoch + 1, program.program, program.store, program.fewer)

    def _go_on(self, program: LocalProgram, version: LocalVersion) -> None:
        """Let the epoch of a version be the last one, which a program has run."""
        self.running, self._prepared = program, None
        self.version, self.epoch = version, version.epoch
        program.store.repacked = {}
        program.forgetting.commit()
        program.store.space.settle()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Use the resources of this engine."""
        with spilling.using(self.store.space), parallel.using(self._threads):
            yield

    # Definitions

    def prepare_extension(self, circuit: Circuit, rows: Mapping[str, Changed] = NOTHING) -> Prepared:
        return prepared_by(lambda prepared: self._prepare_extension(prepared, circuit, rows))

    @exclusive
    def _prepare_extension(self, prepared: list[Prepared], circuit: Circuit, rows: Mapping[str, Changed]) -> None:
        """Add the epoch to `prepared`."""
        started = time.perf_counter()
        refuse_second(self._prepared)
        old, plans = self.running, self._plans_of(circuit, rows)
        old.store.fit()
        with self._working():
            program, kept = old.evolved(circuit, plans, rows)
            batches = program.boundary.encoded(rows)
            program.boundary.make_room(batches)
            changes = program.begin(old, kept, batches)
        version, extension = self._version_of(program), _extension(old, program, kept)
        seconds = time.perf_counter() - started
        result = EpochResult(changes, 0, program.visited, seconds, program.components, extension)

        def commit() -> None:
            self.extension = extension
            self._go_on(program, version)

        def abort() -> None:
            self._prepared = None
            old.store.space.settle()

        self._prepared = Prepared(version, self.token, result, commit, abort)
        prepared.append(self._prepared)

    def _plans_of(self, circuit: Circuit, rows: Mapping[str, Changed]) -> Plans:
        """The plan of another circuit, whose tables that have `rows` begin with these."""
        old, contents = self.running, self.running.contents
        held = {table: contents.held(table) for table in self.program.tables if table not in rows}
        known = {**held, **old.plans.of_recursions(contents.recursive())}
        plans = old.plans.settled if old.forgetting.has_forgotten else old.plans
        return replace(plans.extended(circuit, known, contents.relations()), costs=old.plans.costs)

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
            "plan": self.running.plans.described(self.circuit),
            "learned": self.running.strata.learned(),
            "tables": self.program.tables,
            "views": self.program.sinks,
        }

    @exclusive
    def restore(self, saved: Saved, tables_alone: bool = False) -> None:
        about, present = saved.about, self.running
        plans = present.plans.restored(about["plan"], self.circuit)
        with self._working():
            program = LocalProgram.restored(saved, self.circuit, plans, present.options, self.store.space, tables_alone)
        version = LocalVersion.of(about["epoch"], program.program, program.store)
        self.token = about["token"]
        self._go_on(program, version)

    # Reading

    @exclusive
    def forgotten(self, view: str) -> tuple[str, ...]:
        return self.running.forgetting.tables(self.program.below(self.program.sinks[view]))

    @exclusive
    def explain(self, name: str, full: bool = False) -> str:
        tell = explain if full else summary
        running, program = self.running, self.program
        told = tell(self.circuit, name, program, self.states, self.evaluations, running.strategies)
        below = program.below(program.sinks[name])
        if forgotten := list(running.forgetting.lines(below)):
            forgotten += [_PINNED] * running.forgetting.has_forgotten
            told += "\n\nwhat watermarks leave behind:\n" + "\n".join(f"  {line}" for line in forgotten)
        if lines := running.plans.lines(below, self.states, self.evaluations):
            told += f"\n\n{PLAN}:\n" + "\n".join(f"  {line}" for line in lines)
        if self.extension is None:
            return told
        return f"{told}\n\nthe last change of definitions {self.extension.of(below)}"

    @exclusive
    def sizes(self) -> list[Size]:
        return list(self.store.listed())

    @property
    def nbytes(self) -> int:
        """The memory of all runs, in bytes."""
        return self.store.nbytes

    @property
    def resident(self) -> int:
        """The same: all of the state is in this process."""
        return self.nbytes


def _extension(old: LocalProgram, new: LocalProgram, kept: Mapping[str, str]) -> Extension:
    """What of a program was kept by a new one, what was built, and what is gone."""
    gone = old.program.relations.keys() - kept.values() - new.program.relations.keys()
    dropped = tuple(name for name in old.program.relations if name in gone)
    partial_views = old.forgetting.partial(new.program, kept)
    return Extension(tuple(new.without(kept)), tuple(kept), dropped, partial=partial_views)
