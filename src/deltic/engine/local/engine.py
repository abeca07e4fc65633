"""The local engine: an incremental circuit in one process, over packed rows in sorted runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltic.circuit import operators as ops
from deltic.circuit.graph import Circuit
from deltic.circuit.iterations import ITERATION_LIMIT
from deltic.engine.batches import Changed
from deltic.engine.changes import Changes
from deltic.engine.local.critical_section import CriticalSection, exclusive
from deltic.engine.local.explain import explain, summary
from deltic.engine.local.kernels.compiling import announce_compilation
from deltic.engine.local.kernels.thresholds import DEFAULTS, Thresholds
from deltic.engine.local.operators.query import Environment, Evaluation, value_of
from deltic.engine.local.plan.planner import plan
from deltic.engine.local.recursion.refresh import AUTO, Refresh
from deltic.engine.local.recursion.strategy import Strategies, Strategy
from deltic.engine.local.storage.arrow import (
    Encoded,
    encode_batch,
    encode_key,
    make_room,
    shown_rows,
    table_change,
    view_change,
)
from deltic.engine.local.storage.layout import Domain, DomainOverflow
from deltic.engine.local.storage.lookup import find_rows
from deltic.engine.local.storage.state import Snapshot, State
from deltic.engine.local.storage.store import Store
from deltic.engine.local.strata import Strata, constant_change, is_constant
from deltic.engine.prepared import Prepared, refuse_second
from deltic.engine.protocol import ComponentReport, Conflicts, Engine, EpochResult
from deltic.program.extract import program_of

if TYPE_CHECKING:
    from sqlglot import exp


class LocalEngine(Engine):
    """Runs a circuit in this process; see `Engine` for the protocol.

    Raises UnsupportedError when the circuit has no derivative or the engine cannot run it. `strategies` are those of
    chosen recursive views, and of what is mutually recursive with them; the others have `strategy`. An epoch with a
    recursion of more than `iteration_limit` iterations is rejected. A second thread that uses it at the same time gets
    a DelticError.
    """

    def __init__(
        self,
        circuit: Circuit,
        strategy: Strategy = Strategy.NESTED,
        refresh: Refresh = AUTO,
        iteration_limit: int = ITERATION_LIMIT,
        strategies: Mapping[str, Strategy] | None = None,
        thresholds: Thresholds = DEFAULTS,
    ) -> None:
        announce_compilation()
        self._choices = (strategy, refresh, iteration_limit, strategies, thresholds)
        self.circuit = circuit
        self.epoch, self.token = 0, ""
        self.program = program_of(circuit, strict=refresh.strict)
        self.store = Store()
        bags = [op.name for op in circuit.operators if isinstance(op, ops.Source) and not op.is_set]
        self.store.define(self.program, self._value_of, bags)
        self.states = self.store.states
        self._environment = Environment(
            self.states, self.store.interner, iteration_limit=iteration_limit, thresholds=thresholds
        )
        self.evaluations = [
            Evaluation(plan(query), self.store.domains.variables[rule], self._environment)
            for rule in self.program.rules
            for query in rule.queries()
        ]
        sinks = self.program.sinks
        chosen = {sinks[view]: one for view, one in (strategies or {}).items() if view in sinks}
        self._strategies = Strategies(strategy, chosen)
        self._strata = Strata(self.program, self.states, self.evaluations, self._strategies, refresh, self._environment)
        self._bound = [*self.evaluations, *self._strata.evaluations]
        self._components: tuple[ComponentReport, ...] = ()
        self._constants = [s for s in self.states.values() if is_constant(s)]
        self._prepared: Prepared | None = None

    @property
    def section(self) -> CriticalSection:
        """What keeps other threads and interrupts from the state while a method works on it."""
        return self._environment.section

    def _value_of(self, literal: exp.Expression) -> int:
        return value_of(literal, self.store.interner)

    # Epochs

    @exclusive
    def prepare(self, changes: Mapping[str, Changed], conflicts: Conflicts = "error", token: str = "") -> Prepared:
        started = time.perf_counter()
        refuse_second(self._prepared)
        self._environment.visits.rows = 0
        batches = {
            name: encode_batch(name, batch, self.states[self.program.tables[name]], self.store.interner)
            for name, batch in changes.items()
        }
        for name, (columns, _) in batches.items():
            make_room(self.states[self.program.tables[name]], columns)
        found, grown = None, set[Domain]()
        while found is None:
            found = self._try_epoch(batches, conflicts, grown)
        before, deltas = found
        rows_in = sum(len(d) for name in changes if (d := self.states[self.program.tables[name]].delta))
        self.store.end_epoch()
        seconds = time.perf_counter() - started
        result = EpochResult(deltas, rows_in, self._environment.visits.rows, seconds, self._components)
        number = self.epoch + 1

        def commit() -> None:
            self.epoch, self.token, self._prepared = number, token, None

        def abort() -> None:
            self._prepared = None
            self.store.roll_back(before)

        self._prepared = Prepared(number, token, result, commit, abort)
        return self._prepared

    @exclusive
    def extend(self, circuit: Circuit) -> EpochResult:
        started = time.perf_counter()
        refuse_second(self._prepared)
        other = LocalEngine(circuit, *self._choices)
        other.epoch = self.epoch
        contents = {name: self.read(name, table=True, counted=True) for name in self.program.tables}
        rows = {name: table for name, table in contents.items() if name in other.program.tables and len(table)}
        result = other.apply(rows, "trust", self.token)
        self.__dict__ = other.__dict__
        return EpochResult(result.changes, 0, result.rows_visited, time.perf_counter() - started)

    def _try_epoch(
        self, batches: Mapping[str, Encoded], conflicts: Conflicts, grown: set[Domain]
    ) -> tuple[Snapshot, Changes] | None:
        """The state before and the changes of the views; None when a domain had to grow: the epoch is to be run again.

        `grown` are the domains that had to in this epoch: one that has to again is where a recursion counts, so it gets
        room for more. After any exception the state is as before the epoch.
        """
        self._fit()
        snapshot = self.store.snapshot()
        try:
            self._change_tables(batches, conflicts)
            self._components = self._strata.run()
            changes = self._view_changes()
            self.section.check()
            return snapshot, changes
        except BaseException as error:
            self.store.roll_back(snapshot)
            if not isinstance(error, DomainOverflow):
                raise
            extend = error.domain.extend_amply if error.domain in grown else error.domain.extend
            extend(error.low, error.high)
            grown.add(error.domain)
            return None

    def _fit(self) -> None:
        """Let all values have their places, and bind the plans to the layouts."""
        if self.store.fit():
            for evaluation in self._bound:
                evaluation.prepare(self._value_of)

    def _change_tables(self, batches: Mapping[str, Encoded], conflicts: Conflicts) -> None:
        for name, (columns, weights) in batches.items():
            state = self.states[self.program.tables[name]]
            state.delta = table_change(name, state, columns, weights, conflicts, self.store.interner)
        for state in self._constants:
            if not state.contents.runs:
                state.delta = constant_change(state, self.store.interner)
        for state in self.store.changed():
            assert state.delta is not None
            state.append(state.delta)

    def _view_changes(self) -> Changes:
        states = {name: self.states[relation] for name, relation in self.program.sinks.items()}
        changed = {name: (state, state.delta) for name, state in states.items() if state.delta is not None}
        return Changes(
            {name: view_change(state, delta, self.store.interner) for name, (state, delta) in changed.items()}
        )

    # Reading

    @exclusive
    def read(self, name: str, *, table: bool = False, counted: bool = False) -> pa.Table:
        self._fit()
        state = self._state(name, table)
        return shown_rows(state, *state.rows(), self.store.interner, counted)

    @exclusive
    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        self._fit()
        state = self._state(name)
        offsets = encode_key(state, key, self.store.interner)
        found = state.no_rows() if offsets is None else find_rows(state, offsets)
        return shown_rows(state, *found, self.store.interner, counted)

    @exclusive
    def count(self, name: str) -> int:
        state = self._state(name)
        weights = np.maximum(state.rows()[1], 0)
        return int(np.count_nonzero(weights) if state.is_set else weights.sum())

    @exclusive
    def explain(self, name: str, full: bool = False) -> str:
        tell = explain if full else summary
        return tell(self.circuit.part(name), self.program, self.states, self.evaluations, self._strategies)

    def _state(self, name: str, table: bool = False) -> State:
        sinks, tables = self.program.sinks, self.program.tables
        return self.states[tables[name] if table or name not in sinks else sinks[name]]

    @property
    def nbytes(self) -> int:
        """The memory of all runs, in bytes."""
        return self.store.nbytes
