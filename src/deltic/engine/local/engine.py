"""The local engine: an incremental circuit in one process, over packed rows in sorted runs."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltic.calculus.incrementalize import incrementalize
from deltic.circuit.graph import Circuit
from deltic.engine.local.codec import Interner, encode
from deltic.engine.local.domains import assign_domains
from deltic.engine.local.evaluate import DomainOverflow, Environment, Evaluation, value_of
from deltic.engine.local.explain import explain
from deltic.engine.local.extract import extract
from deltic.engine.local.layout import Values
from deltic.engine.local.lookup import find_rows
from deltic.engine.local.nested import Component, run_component
from deltic.engine.local.pending import Batch
from deltic.engine.local.planner import plan
from deltic.engine.local.relation import Snapshot, State
from deltic.engine.local.rules import Kind, Stratum
from deltic.engine.local.run import Run, Weights, plain
from deltic.engine.local.tables import decode_delta, decode_rows, encode_batch, encode_key, extend, table_change
from deltic.engine.protocol import Conflicts, EpochResult

if TYPE_CHECKING:
    from sqlglot import exp


class LocalEngine:
    """Runs a circuit in this process; see `Engine` for the protocol.

    Raises UnsupportedError when the circuit has no derivative or the engine cannot run it.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.incremental = incrementalize(circuit)
        self.program = extract(self.incremental)
        self._interner = Interner()
        domains = assign_domains(self.program, self._value_of)
        self._text = domains.text
        self.states = {name: State(r, domains.columns[name]) for name, r in self.program.relations.items()}
        self._environment = Environment(self.states, self._interner, domains.text)
        self.evaluations = [
            Evaluation(plan(query), variables, self._environment)
            for query, variables in zip(self.program.queries, domains.variables, strict=True)
        ]
        for evaluation in self.evaluations:
            for access in (a for s in evaluation.plan.segments for a in s.accesses[1:] if a.relation):
                evaluation.stores(access)
        self._by_head: dict[str, list[Evaluation]] = defaultdict(list)
        for evaluation in self.evaluations:
            self._by_head[evaluation.query.head].append(evaluation)
        self._bound = False
        self._constants_pending = True

    def _value_of(self, literal: exp.Expression) -> int:
        return value_of(literal, self._interner)

    # Epochs

    def apply(self, changes: Mapping[str, pa.Table], conflicts: Conflicts = "error") -> EpochResult:
        started = time.perf_counter()
        self._environment.visits.rows = 0
        batches = {}
        for name, batch in changes.items():
            batches[name] = encode_batch(batch, self.states[self.program.tables[name]], self._interner)
        while True:
            self._refit()
            snapshot = Snapshot.of(self.states.values())
            try:
                self._run_epoch(batches, conflicts)
                found = {name: d for name, relation in self.program.sinks.items() if (d := self.states[relation].delta)}
                deltas = {
                    name: decode_delta(self.states[self.program.sinks[name]], d, self._interner)
                    for name, d in found.items()
                }
                break
            except DomainOverflow as overflow:
                snapshot.restore()
                self._forget_deltas()
                extend(overflow.domain, overflow.low, overflow.high)
            except BaseException:
                snapshot.restore()
                self._forget_deltas()
                raise
        rows_in = sum(len(d) for name in changes if (d := self.states[self.program.tables[name]].delta))
        self._forget_deltas()
        self._constants_pending = False
        return EpochResult(deltas, rows_in, self._environment.visits.rows, time.perf_counter() - started)

    def _refit(self) -> None:
        """Pack anew what has outgrown its layout, and bind the plans to the layouts."""
        if len(self._interner):
            extend(self._text, 0, len(self._interner) - 1)
        stale = [a for state in self.states.values() for a in state.arrangements() if a.is_stale()]
        for arrangement in stale:
            arrangement.relayout()
        if stale or not self._bound:
            for evaluation in self.evaluations:
                evaluation.prepare(self._value_of)
            self._bound = True

    def _run_epoch(self, batches: Mapping[str, tuple[list[Values], Weights]], conflicts: Conflicts) -> None:
        for name, (columns, weights) in batches.items():
            state = self.states[self.program.tables[name]]
            state.delta = table_change(name, state, columns, weights, conflicts, self._interner)
            if state.delta:
                state.append(state.delta)
        for stratum in self.program.strata:
            self._run_stratum(stratum)
        for state in self.states.values():
            if state.delta is not None:
                state.compact()

    def _run_stratum(self, stratum: Stratum) -> None:
        if stratum.recursive:
            run_component(self._component(stratum), self.states)
            return
        (name,) = stratum.relations
        state = self.states[name]
        if state.relation.kind is Kind.CONSTANT and self._constants_pending:
            state.delta = self._constant(state)
        elif state.relation.kind in (Kind.SET, Kind.BAG):
            state.delta = self._derive(state)
        if state.delta is not None and state.relation.kind is not Kind.TABLE:
            state.append(state.delta)

    def _constant(self, state: State) -> Run | None:
        rows, schema = state.relation.rows, state.relation.schema
        columns = [
            encode(pa.array([r[i] for r in rows], c.type.arrow), c.type, self._interner) for i, c in enumerate(schema)
        ]
        for domain, values in zip(state.domains, columns, strict=True):
            if values.size and not domain.fits(int(values.min()), int(values.max())):
                raise DomainOverflow(domain, int(values.min()), int(values.max()))
        raw = [d.encode(v) for d, v in zip(state.domains, columns, strict=True)]
        batch = Batch()
        batch.add(state.layout.pack(raw, len(rows)), np.ones(len(rows), np.int64))
        return _run_of(batch)

    def _derive(self, state: State) -> Run | None:
        """The change of a set or bag from the changes below it."""
        batch = Batch()
        for evaluation in self._by_head[state.relation.name]:
            delta = self.states[evaluation.query.delta.relation].delta
            if delta is not None:
                for derived in evaluation.run(delta):
                    batch.add(derived.words, derived.weights)
        total = batch.total()
        if total is None or not total[0].shape[1]:
            return None
        if state.relation.kind is Kind.BAG:
            return Run(total[0], weights=plain(total[1]))
        change = state.change_set(*total)
        return change if len(change) else None

    def _component(self, stratum: Stratum) -> Component:
        names = set(stratum.relations)
        inner: dict[str, list[Evaluation]] = defaultdict(list)
        outer: list[Evaluation] = []
        for evaluation in (e for name in stratum.relations for e in self._by_head[name]):
            followed = evaluation.query.delta.relation
            (inner[followed] if followed in names else outer).append(evaluation)
        return Component({name: self.states[name] for name in stratum.relations}, outer, inner)

    def _forget_deltas(self) -> None:
        for state in self.states.values():
            state.delta = None

    # Reading

    def read(self, name: str, *, table: bool = False) -> pa.Table:
        state = self._state(name, table)
        words, weights = state.rows()
        if state.relation.kind is Kind.BAG:
            words = np.repeat(words, np.maximum(weights, 0), axis=1)
        return decode_rows(state, words, self._interner)

    def lookup(self, name: str, key: Mapping[str, object]) -> pa.Table:
        state = self._state(name)
        offsets = encode_key(state, key, self._interner)
        words = np.empty((state.layout.words, 0), np.uint64) if offsets is None else find_rows(state, offsets)
        return decode_rows(state, words, self._interner)

    def count(self, name: str) -> int:
        words, weights = self._state(name).rows()
        return int(np.maximum(weights, 0).sum()) if self._state(name).relation.kind is Kind.BAG else words.shape[1]

    def explain(self, name: str) -> str:
        return explain(self.program, self.incremental, self._state(name).relation.name, self.evaluations)

    def _state(self, name: str, table: bool = False) -> State:
        sinks, tables = self.program.sinks, self.program.tables
        return self.states[tables[name] if table or name not in sinks else sinks[name]]

    @property
    def nbytes(self) -> int:
        """The memory of all runs, in bytes."""
        return sum(a.nbytes for a in self._arrangements())

    def _arrangements(self) -> Iterator[object]:
        for state in self.states.values():
            yield from state.arrangements()


def _run_of(batch: Batch) -> Run | None:
    total = batch.total()
    return Run(total[0], weights=plain(total[1])) if total is not None and total[0].shape[1] else None
