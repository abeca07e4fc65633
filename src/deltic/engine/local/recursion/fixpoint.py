"""Recursion: an epoch of a component goes through the iterations at which anything changes, least first.

Each row of a recursive relation carries the iteration at which it is first derived, and rules are multilinear
over Z-sets of (row, iteration): a head appears one iteration after the latest row of its body [DBSP §7.2]. When
iteration k is reached, all counts at k and all first iterations before k are final, so each row is asserted or
retracted at k once: it belongs there if its count at k is positive and it is derived at no earlier iteration.
That is decided once, before the change is pushed through any rule, not anew in each query that follows the relation:
`eager` in the words of [ELA §4.2].

The strategies differ in the counts that they keep. `nested` has those of every iteration. `elastic` has that of a
row's first: derivations at later ones are dropped, and when the first count falls to zero, the later ones are found by
searching the rules' bodies for the row as they were before the epoch; whatever the epoch changed in them is on its
way to the row in any case. `full` has none, and can only begin anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deltic.circuit.iterations import limit_error
from deltic.engine.local.kernels.settle import NEVER, known, settle, upcoming
from deltic.engine.local.operators.query import Evaluation
from deltic.engine.local.operators.search import Derived
from deltic.engine.local.recursion.compiled_loop import CompiledLoop
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.storage.arrangement import Arrangement, descriptors, time_array
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.run import Run, Words, add_runs, consolidate, plain
from deltic.engine.local.storage.state import Snapshot, State

Values = np.ndarray[Any, np.dtype[Any]]
# Called again and again with the iteration that is reached, 0 while the changes below are pushed; may raise to end it.
Check = Callable[[int], None]


@dataclass(frozen=True)
class Component:
    """Mutually recursive relations with the queries for them.

    `outer` follow relations of lower strata, `inner` those of the component; both by the relation followed.
    `searches` find the derivations of given rows, by the relation of the rows; `bases` those of rules without
    recursive atoms, from one of their relations. `compiled` runs small iterations in compiled code.
    """

    states: Mapping[str, State]
    outer: Sequence[Evaluation]
    inner: Mapping[str, Sequence[Evaluation]]
    searches: Mapping[str, Sequence[Evaluation]]
    bases: Sequence[Evaluation]
    strategy: Strategy
    compiled: CompiledLoop | None

    @property
    def beside(self) -> Iterator[Evaluation]:
        """The queries that it has beside the delta queries."""
        yield from self.bases
        yield from (e for found in self.searches.values() for e in found)
        known = {id(e) for found in (*self.inner.values(), *self.searches.values()) for e in found}
        yield from (e for e in self.compiled.evaluations if id(e) not in known) if self.compiled else ()

    @cached_property
    def computing(self) -> list[str]:
        """The rules that make new values from recursive rows; without one, every recursion has an end."""
        queries = [e.query for found in self.inner.values() for e in found]
        return list(dict.fromkeys(str(query.rule) for query in queries if query.computes))


def update(component: Component, lower: Mapping[str, State], check: Check) -> None:
    """Bring the component up to date with the changes of `lower`; sets the `delta` of its relations."""
    epoch = _Epoch(component, check)
    for evaluation in component.outer:
        delta = lower[evaluation.query.delta.relation].delta
        if delta is not None:
            epoch.derive(evaluation, delta, 0)
    epoch.run()
    epoch.finish()


def bootstrap(component: Component, lower: Mapping[str, State], check: Check) -> None:
    """Compute the component from nothing [ELA Alg. 1]; sets the `delta` of its relations."""
    started = Snapshot.of(component.states.values())
    old = {name: state.rows() for name, state in component.states.items()}
    for arrangement, _, _ in started.saved:
        arrangement.runs = arrangement.before = ()
    epoch = _Epoch(component, check)
    for evaluation in component.bases:
        words, weights = lower[evaluation.query.delta.relation].rows()
        if len(weights):
            epoch.derive(evaluation, Run(words, weights=plain(weights)), 0, lambda arrangement: arrangement.runs)
    epoch.run()
    for name, state in component.states.items():
        words, weights = old[name]
        changed = Batch()
        changed.add(words, -weights)
        changed.add(*state.rows())
        state.delta = changed.run()
    runs = started.runs()
    for state in component.states.values():
        for arrangement in state.by_order.values():
            arrangement.before = arrangement.runs if state.delta is None else runs[id(arrangement)]


class _Epoch:
    """One epoch of a component."""

    def __init__(self, component: Component, check: Check) -> None:
        self.component = component
        self.check = check
        self.keeps_all = component.strategy is Strategy.NESTED
        self.keeps_counts = component.strategy is not Strategy.FULL
        self.names = frozenset(component.states)
        self.environment = component.outer[0].environment
        self.thresholds = self.environment.thresholds
        self.agendas = {name: Agenda(self.thresholds.large) for name in component.states}
        self.changes = {name: Batch(self.thresholds.large) for name in component.states}
        self.found: dict[str, tuple[Run, ...]] = dict.fromkeys(component.states, ())
        self.started = Snapshot.of(component.states.values()).runs()
        self.patience = 0

    def first(self) -> int | None:
        return min((t for a in self.agendas.values() if (t := a.first()) is not None), default=None)

    def run(self) -> None:
        """Go through all iterations."""
        while (now := self.first()) is not None:
            if self._is_compiled(now):
                self._run_compiled()
            if (now := self.first()) is not None:
                self._check_end(now)
                self.iterate(now)

    def _is_compiled(self, now: int) -> bool:
        """Whether so little waits that compiled code should go on."""
        if self.component.compiled is None or self.patience > 0:
            self.patience -= 1
            return False
        agendas = self.agendas.values()
        few = sum(a.waiting for a in agendas) <= self.thresholds.most_waiting
        return few and max(a.width(now) for a in agendas) <= self.thresholds.most_rows

    def _run_compiled(self) -> None:
        """Go through small iterations; where that did not pay, the next ones are left to vectorised code."""
        assert self.component.compiled is not None

        def check(now: int) -> None:
            self._check_end(now)
            self.check(now)

        keeps = self.keeps_all, self.keeps_counts
        done = self.component.compiled.run(self.agendas, self.changes, self.found, self._before, keeps, check)
        self.patience = 0 if done > self.thresholds.worthwhile else self.thresholds.rest

    def _check_end(self, now: int) -> None:
        """Raise IterationLimitError past the limit; at the iteration after it, known rows may be derived again."""
        limit = self.environment.iteration_limit
        if now > limit + 1 and self.component.computing:
            raise limit_error(sorted(self.component.states), self.component.computing, limit)

    def derive(
        self,
        evaluation: Evaluation,
        delta: Run,
        now: int,
        version: Callable[[Arrangement], tuple[Run, ...]] | None = None,
    ) -> None:
        """Push a change through one query; its derivations wait for their iterations."""
        head = evaluation.query.head
        for derived in evaluation.run(delta, self.names, now, version):
            self.check(now)
            if self.keeps_all or derived.times.size or len(derived) < self.thresholds.large:
                self.agendas[head].derive(derived, now + 1)
            else:
                self.agendas[head].add(self._new(head, derived, now), now + 1)

    def _new(self, head: str, derived: Derived, now: int) -> Run:
        """The sum of the derivations, without those of rows whose first iteration is past: they are not kept."""
        words, weights = derived.words, derived.weights
        if not derived.consolidated:
            words, weights = consolidate(words, weights)
        new = ~known(words, descriptors(self.component.states[head].contents.runs), now)
        return Run(words[:, new], weights=plain(weights[new]))

    def iterate(self, now: int) -> None:
        """Settle the rows of one iteration and push what changed through the rules."""
        self.check(now)
        self.environment.section.check()
        deltas = {
            name: d for name, agenda in self.agendas.items() if (d := self._settle(name, agenda, now)) is not None
        }
        for name, delta in deltas.items():
            self.component.states[name].append(delta)
            self.changes[name].add_run(Run(delta.words, weights=delta.weights))
        for name, delta in deltas.items():
            for evaluation in self.component.inner.get(name, ()):
                self.derive(evaluation, delta, now)
        for name in deltas:
            self.component.states[name].compact()

    def _settle(self, name: str, agenda: Agenda, now: int) -> Run | None:
        """The change of a relation at iteration `now`, None when there is none."""
        candidates = agenda.take(now)
        if candidates is None:
            return None
        state = self.component.states[name]
        assert state.counts is not None
        words, change = candidates
        rows, counts, found = (descriptors(r) for r in (state.contents.runs, state.counts.runs, self.found[name]))
        actions, counted, later, lost = settle(words, change, now, rows, counts, found, self.keeps_all)
        if self.keeps_counts:
            _count(state, words, counted, now)
        again, times = _select(words, later, later - NEVER)
        if len(times):
            agenda.reconsider(again, times)
        if lost.any():
            self._search(name, words[:, lost], now)
        moved, signs = _select(words, actions, actions)
        return Run(moved, time_array(len(signs), now), plain(signs)) if len(signs) else None

    def _search(self, name: str, words: Words, now: int) -> None:
        """Find the derivations after `now` that lost rows had before the epoch, and look at each at its next."""
        gathered = Agenda(self.thresholds.large)
        for evaluation in self.component.searches[name]:
            for derived in evaluation.run(Run(words), self.names, 0, self._before):
                self.check(now)
                gathered.derive(derived, 1)
        for time in sorted(t for t in gathered.counts if t > now):
            total = gathered.counts[time].total()
            if total is not None and len(total[1]):
                run = Run(total[0], time_array(len(total[1]), time), plain(total[1]))
                self.found[name] = add_runs(self.found[name], run)
        times = upcoming(words, descriptors(self.found[name]), now)
        if (times != NEVER).any():
            self.agendas[name].reconsider(*_select(words, times, times - NEVER))

    def _before(self, arrangement: Arrangement) -> tuple[Run, ...]:
        """The version of an arrangement before the epoch."""
        return self.started.get(id(arrangement), arrangement.before)

    def finish(self) -> None:
        """The changes of the whole epoch, whatever the iteration; the relations' old versions for later strata.

        Rows that only moved to another iteration are no change: then the old version is the new one.
        """
        for name, state in self.component.states.items():
            state.delta = self.changes[name].run()
            if state.delta is not None:
                for arrangement in state.by_order.values():
                    arrangement.before = self.started[id(arrangement)]


def _count(state: State, words: Words, counted: Values, now: int) -> None:
    """Add the changes of counts at iteration `now`."""
    rows, weights = _select(words, counted, counted)
    if len(weights):
        state.count(Run(rows, time_array(len(weights), now), plain(weights)))


def _select(words: Words, values: Values, mark: Values) -> tuple[Words, Values]:
    """The rows and values that are marked by something other than zero."""
    chosen = np.flatnonzero(mark)
    if len(chosen) == len(mark):
        return words, values
    return words[:, chosen], values[chosen]
