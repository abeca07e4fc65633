"""A program of the local engine over the relations of one store.

What must hold: a LocalProgram runs the circuit of its plan, and its store has all relations of that program. Another
program, for other definitions or for another plan, *evolves* from this one: it takes over the relations that both
have, and leaves this one unchanged. So an engine changes its program by switching to another one, and undoes the change
by keeping the old one. An epoch changes the store; `roll_back` undoes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from deltic.circuit.graph import Circuit
from deltic.engine.changes import Changes
from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.derived import Order
from deltic.engine.executors.evolution import kept_relations, passed_to_new, rows_in_new_orders, unchanged_rules
from deltic.engine.executors.forgetting import Forgetting, ForgottenRows
from deltic.engine.executors.inline.boundary import Boundary
from deltic.engine.executors.inline.contents import NO_BATCHES, Contents
from deltic.engine.executors.inline.epoch_runner import EpochRunner, Grow
from deltic.engine.executors.inline.strata import Strata
from deltic.engine.executors.stored_program import StoredProgram
from deltic.engine.image import Saved
from deltic.engine.options import EngineOptions, Options
from deltic.engine.plan.plans import Plans
from deltic.engine.protocol import Engine
from deltic.engine.result import EpochResult
from deltic.engine.state_version import StateVersion
from deltic.engine.storage.arrow import Encoded
from deltic.engine.storage.image import restored
from deltic.engine.storage.spilling import Space
from deltic.engine.storage.store import Store, StoreSnapshot
from deltic.program.frontiers import frontiers
from deltic.program.program import Program

NO_ORDERS: Mapping[str, frozenset[Order]] = MappingProxyType({})
MakeInner = Callable[[Circuit], Engine]
"""Makes the engine of a recursion inside a recursion."""


class LocalProgram(StoredProgram):
    """A circuit, the program of its plan, and the relations of that program in a store, ready for epochs."""

    def __init__(
        self,
        circuit: Circuit,
        plans: Plans,
        program: Program,
        store: Store,
        given: EngineOptions,
        inner: MakeInner,
        orders: Mapping[str, frozenset[Order]] = NO_ORDERS,
    ) -> None:
        """Prepare a program over a store; `orders` are those that the queries of some relations probe, if known."""
        super().__init__(program, store, Options.of(circuit, program, given), inner)
        self.circuit, self.plans, self.given, self.inner = circuit, plans, given, inner
        self.frontiers = frontiers(program)
        self.forgettable = self.frontiers.rows
        self.strata = Strata(self, orders)
        self.forgetting = Forgetting(self.frontiers, store)
        self.boundary = Boundary(program, store, self.options.keys)
        self.contents = Contents(program, self.states, store.interner)
        self.runner = EpochRunner(program, store, self.environment.faults)

    @classmethod
    def empty(
        cls, circuit: Circuit, plans: Plans, given: EngineOptions, inner: MakeInner, space: Space
    ) -> LocalProgram:
        """Return the program of a plan, without rows. UnsupportedError if the engine cannot run it."""
        return cls(circuit, plans, given.compiled(plans.circuit), Store(space), given, inner)

    @property
    def visited(self) -> int:
        """The number of rows that the present epoch has visited."""
        return self.environment.visits.rows

    # Epochs

    def result(self, changes: Changes, tables: Mapping[str, int], **more: Any) -> EpochResult:
        """Return the result of the present epoch: changes of views, the numbers of changed rows of tables, and more."""
        reports, work = tuple(self.work.reports), self.work.strata
        return EpochResult(changes, tables=tables, rows_visited=self.visited, components=reports, work=work, **more)

    def run(self, batches: Mapping[str, Encoded], conflicts: Conflicts) -> tuple[StoreSnapshot, Changes]:
        """Run an epoch in which tables change by batches. Return the state before it and the changes of the views."""
        self.boundary.make_room(batches)
        constants = [state.relation.name for state in self.boundary.pending_constants()]
        changed = frozenset([*(self.program.tables[name] for name in batches), *constants])
        relations = self.strata.course(changed).relations
        return self.runner.run(partial(self._epoch, batches, conflicts), relations=relations)

    def _epoch(self, batches: Mapping[str, Encoded], conflicts: Conflicts, grow: Grow) -> Changes:
        self.boundary.change_tables(batches, conflicts)
        self.strata.run(grow)
        return self.boundary.view_changes()

    # Other programs

    def evolved(
        self, circuit: Circuit, plans: Plans, begun: Collection[str] = ()
    ) -> tuple[LocalProgram, dict[str, str]]:
        """Return the program of another circuit or plan, and its kept relations, each with its name in this one.

        Nothing is kept that reads tables `begun` with other rows. Relations that are not kept are empty: `begin`
        computes them.
        """
        program = self.given.compiled(plans.circuit)
        kept = kept_relations(self.program, program, self.options, Options.of(circuit, program, self.given), begun)
        pairs = ((program.relations[new], was) for new, was in kept.items())
        unchanged = unchanged_rules(self.program, program, kept)
        store = self.store.evolved(pairs, unchanged)
        orders = {name: known for name, known in self.strata.orders.items() if name in unchanged}
        other = LocalProgram(circuit, plans, program, store, self.given, self.inner, orders)
        store.end_evolution()
        other.histories.continue_from(self.histories, kept)
        return other, kept

    def begin(self, old: LocalProgram, kept: Mapping[str, str], batches: Mapping[str, Encoded]) -> Changes:
        """Compute the relations that are not `kept`, with tables from batches, in an epoch after an old program.

        Return the changes of the views relative to the old program.
        """

        def changes() -> Changes:
            self.environment.visits.rows += rows_in_new_orders(self.states, old.states, kept)
            return self.boundary.changes_from(old.boundary, kept)

        return self.compute(self.without(kept), old, batches, changes)

    def compute(
        self,
        new: Collection[str],
        old: LocalProgram | None = None,
        batches: Mapping[str, Encoded] = NO_BATCHES,
        changes: Callable[[], Changes] = lambda: Changes({}),
    ) -> Changes:
        """Compute new relations, with new tables from batches. Return the changes of the views: by default none.

        Domains are shared with the `old` program.
        """

        def epoch(grow: Grow) -> Changes:
            self.boundary.change_tables(batches, "trust")
            self.strata.run(grow, new)
            return changes()

        _, result = self.runner.run(epoch, (old or self).store.fit)
        self.store.end_epoch()
        return result

    def without(self, kept: Collection[str]) -> list[str]:
        """Return the relations that are not kept."""
        return [name for name in self.program.relations if name not in kept]

    def restored(self, saved: Saved, plans: Plans, tables_alone: bool) -> LocalProgram:
        """Return the program of a plan over a saved state. What the state lacks, or has only in part, is computed.

        Raises UnsupportedError if rows have been forgotten from which a view would be computed.
        """
        program = self.given.compiled(plans.circuit)
        wanted = set(program.tables.values()) if tables_alone else program.relations.keys()
        store = restored(replace(saved, about=saved.about["store"]), program, wanted, self.store.space)
        store.drop(passed_to_new(program, store.states) & store.states.keys())
        kept = {name: name for name in program.relations if name in store.states}
        made = LocalProgram(self.circuit, plans, program, store, self.given, self.inner)
        store.end_evolution()
        made.histories.learn(saved.about["learned"])
        if new := made.without(kept):
            made.compute(new)
        if not tables_alone:
            made.forgotten(StateVersion.of(0, program, [store])).refuse_partial(kept)
        return made

    def forgotten(self, version: StateVersion) -> ForgottenRows:
        """Return what is forgotten in the epoch after a version."""
        return ForgottenRows.of(self.program, self.frontiers, version)
