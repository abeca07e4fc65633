"""The executor with one store in this process: queries run in one piece, and nothing is exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from deltic.circuit.graph import Circuit
from deltic.engine import parallel
from deltic.engine.batches import Changed
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.evolution import extension
from deltic.engine.executors.executor import Executed, Host, StateHolder
from deltic.engine.executors.explain import DECISIONS, FORGOTTEN, explain, formulas, maintenance, queries, text_of
from deltic.engine.executors.forgetting import NO_MARKS, Forget, Marks
from deltic.engine.executors.inline.program import LocalProgram
from deltic.engine.image import Image, Saved
from deltic.engine.keyed import plain
from deltic.engine.maintenance import RelationPlan, Size
from deltic.engine.options import EngineOptions
from deltic.engine.plan.plans import PLAN, Plans
from deltic.engine.plan.replanning import run_by_plan
from deltic.engine.result import Phases
from deltic.engine.state_version import StateVersion
from deltic.engine.storage import spilling
from deltic.engine.storage.image import image_of
from deltic.engine.storage.spilling import Space
from deltic.engine.storage.store import Store
from deltic.program.program import Program

_PINNED = "the plan stays as it is from now on: what has been forgotten could not be computed in another way"


class InlineExecutor(StateHolder):
    """Owns one store; see `Executor`. An epoch by another program leaves the running one unchanged until its commit."""

    def __init__(self, running: LocalProgram, epoch: int) -> None:
        self.running: LocalProgram
        """The program of the last epoch, whose relations are the state."""
        self._go_on(running, StateVersion.of(epoch, running.program, [running.store]))

    @classmethod
    def empty(cls, circuit: Circuit, options: EngineOptions, host: Host) -> InlineExecutor:
        """Return an executor of a circuit, without rows."""
        space, plans = Space(options.resources.spill, options.resources.memory), replace(options.plans, circuit=circuit)
        return cls(LocalProgram.empty(circuit, plans, options, host.inner, space), 0)

    @property
    def circuit(self) -> Circuit:
        return self.running.circuit

    @property
    def program(self) -> Program:
        return self.running.program

    @property
    def store(self) -> Store:
        """The store of the program's relations."""
        return self.running.store

    @property
    def stores(self) -> list[Store]:
        return [self.store]

    # Epochs

    def run(self, changes: Mapping[str, Changed], conflicts: Conflicts) -> Executed:
        phases, present = Phases(), self.running
        present.environment.visits.rows = 0
        with self._working():
            weighed = {t: plain(t, batch, self.version, conflicts) for t, batch in changes.items()}
            batches = present.boundary.encoded(weighed)
            phases.end("encoding")
            epoch = run_by_plan(present, batches, conflicts, is_pinned=bool(self._forgotten.relations))
            program, marks = epoch.program, self._forgotten.marks
            if marks != self._done:
                program.forgetting.run(Forget(marks, self._done if program is present else NO_MARKS))
        phases.end("evaluation")
        version = self.version.following(program.program, [program.store])
        tables = {name: len(delta) for name in changes if (delta := program.boundary.table(name).delta)}
        program.store.end_epoch()
        phases.end("version")
        decisions = None if program is present else program.plans.decisions
        result = program.result(epoch.changes, tables, decisions=decisions, phases=phases.seconds)

        def abort() -> None:
            program.store.roll_back(epoch.before)
            program.store.space.settle()

        return Executed(version, result, lambda: self._go_on(program, version, marks), abort)

    def extend(self, circuit: Circuit, rows: Mapping[str, Changed]) -> Executed:
        old, plans = self.running, self._plans_of(circuit, rows)
        old.store.fit()
        with self._working():
            program, kept = old.evolved(circuit, plans, rows)
            batches = program.boundary.encoded(rows)
            program.boundary.make_room(batches)
            changes = program.begin(old, kept, batches)
        version = self.version.following(program.program, [program.store])
        became = extension(old.program, program.program, kept, partial=self._forgotten.partial(program.program, kept))
        result = program.result(changes, {}, extension=became)
        return Executed(version, result, lambda: self._go_on(program, version), old.store.space.settle)

    def _plans_of(self, circuit: Circuit, rows: Mapping[str, Changed]) -> Plans:
        """Return the plan of another circuit, whose tables in `rows` start with these rows."""
        old, contents = self.running, self.running.contents
        held = {table: contents.held(table) for table in self.program.tables if table not in rows}
        known = {**held, **old.plans.of_recursions(contents.recursive())}
        plans = old.plans.settled if self._forgotten.relations else old.plans
        return replace(plans.extended(old.circuit, circuit, known, contents.relations()), costs=old.plans.costs)

    def _go_on(self, program: LocalProgram, version: StateVersion, done: Marks = NO_MARKS) -> None:
        """Make the program's epoch the last one, with this version. It has forgotten rows by the watermarks `done`."""
        self.running, self.version = program, version
        self._forgotten, self._done = program.forgotten(version), done
        program.boundary.constants = program.boundary.pending_constants()
        program.store.rewritten = {}
        program.store.space.settle()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Use the memory and threads of this executor."""
        with spilling.using(self.store.space), parallel.using(self.running.given.resources.threads):
            yield

    # What is written

    def image(self) -> Image:
        self.store.fit()
        image, running = image_of(self.store), self.running
        about = {"plan": running.plans.described(self.circuit), "learned": running.histories.written()}
        return replace(image, about={**about, "store": image.about})

    def restored(self, saved: Saved, tables_alone: bool) -> InlineExecutor:
        plans = self.running.plans.restored(saved.about["plan"], self.circuit)
        with self._working():
            program = self.running.restored(saved, plans, tables_alone)
        program.store.space.settle()
        return InlineExecutor(program, saved.about["epoch"])

    def checks_keys(self, table: str) -> bool:
        return True

    # Reading

    def forgotten(self, view: str) -> tuple[str, ...]:
        return self._forgotten.tables(self.program.below(self.program.sinks[view]))

    def explain(self, name: str, full: bool) -> str:
        running, relation = self.running, self.program.sinks[name]
        below, recursions = self.program.below(relation), list(formulas(relation, running, signed=not full))
        stored = queries(relation, self.program, maintenance(below, running, plans=full), full)
        text = explain(self.circuit, name, full, recursions, stored)
        if forgotten := list(self._forgotten.lines(below)):
            forgotten += [_PINNED] * bool(self._forgotten.relations)
        more = {
            FORGOTTEN: forgotten,
            PLAN: running.plans.lines(below, running.states, running.evaluations),
            DECISIONS: list(running.strata.decisions(below)),
        }
        return "\n\n".join(filter(None, [text, text_of(more)]))

    def maintenance(self, name: str) -> tuple[RelationPlan, ...]:
        return tuple(maintenance(self.program.below(self.program.sinks[name]), self.running))

    def sizes(self) -> list[Size]:
        return list(self.store.listed())

    @property
    def nbytes(self) -> int:
        return self.store.nbytes
