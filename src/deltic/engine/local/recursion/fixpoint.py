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
way to the row in any case. `full` has none, and can only start again.

A recursion of bags decides nothing: a row is at each iteration as often as it is derived there, so that the counts of
all iterations are the relation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from deltic.circuit.iterations import Deadline, circle_error, limit_error
from deltic.engine.local.kernels.settle import NEVER, known, settle, upcoming
from deltic.engine.local.operators.query import Environment, Evaluation
from deltic.engine.local.operators.search import Derived, Past
from deltic.engine.local.parallel import run_all
from deltic.engine.local.recursion.compiled_loop import CompiledLoop
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.storage.arrangement import Arrangement, Descriptors, descriptors, present, time_array
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.kinds import Kind
from deltic.engine.local.storage.run import Run, Weights, Words, add_runs, consolidate, merge_runs, narrow, plain
from deltic.engine.local.storage.state import Snapshot, State
from deltic.errors import CountOverflowError

Values = np.ndarray[Any, np.dtype[Any]]
# The iterations after which a recursion of bags that grows deeper is searched for circles.
_DEEP = 64
# Called again and again with the iteration that is reached, 0 while the changes below are pushed; may raise to end it.
Check = Callable[[int], None]


class Settled(NamedTuple):
    """What `settle` finds of some candidates, in arrays as narrow as they can be."""

    actions: Values
    counted: Values
    later: Values
    lost: Values


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
    def maintained(self) -> str:
        """How it is kept, for reports."""
        return self.strategy.value

    @property
    def environment(self) -> Environment:
        """What all of its queries share."""
        return self.outer[0].environment

    @cached_property
    def following(self) -> list[Evaluation]:
        """All queries that follow relations of the component."""
        return [e for found in self.inner.values() for e in found]

    @cached_property
    def searching(self) -> list[Evaluation]:
        """All queries that find the derivations of given rows."""
        return [e for found in self.searches.values() for e in found]

    def build(self, lower: Mapping[str, State]) -> None:
        """Build what an update by the changes of `lower` probes."""
        changed = [e for e in self.outer if lower[e.query.delta.relation].delta is not None]
        compiled = self.compiled.evaluations if self.compiled is not None else ()
        for evaluation in (*changed, *self.following, *self.searching, *compiled):
            evaluation.build()

    def build_for_bootstrap(self) -> None:
        """Build what a bootstrap probes, and of the component itself also what the first update will."""
        compiled = self.compiled
        for evaluation in (*self.following, *(compiled.following if compiled is not None else ())):
            evaluation.build()
        for evaluation in (*self.searching, *(compiled.evaluations if compiled is not None else ())):
            evaluation.build(self.states)

    def update(self, lower: Mapping[str, State], check: Check) -> None:
        """Bring the component, built for it, up to date with the changes of `lower`; sets its relations' `delta`."""
        epoch = _Epoch(self, check)
        for evaluation in self.outer:
            delta = lower[evaluation.query.delta.relation].delta
            if delta is not None:
                epoch.derive(evaluation, delta, 0)
        epoch.run()
        epoch.finish()

    def bootstrap(self, lower: Mapping[str, State], check: Check) -> None:
        """Compute the component from nothing [ELA Alg. 1]; sets the `delta` of its relations."""
        self.build_for_bootstrap()
        started = Snapshot.of(self.states.values())
        old = {name: state.whole() for name, state in self.states.items()}
        for arrangement, *_ in started.saved:
            arrangement.runs = arrangement.before = ()
        epoch = _Epoch(self, check, begins=True)
        for evaluation in self.bases:
            whole = lower[evaluation.query.delta.relation].whole()
            if len(whole):
                epoch.derive(evaluation, whole, 0, lambda arrangement: arrangement.runs)
        epoch.run()
        runs = started.runs()
        for name, state in self.states.items():
            changed = merge_runs(old[name].negated(), epoch.merged(state))
            state.delta = changed if len(changed) else None
            for arrangement in state.built.values():
                arrangement.before = arrangement.runs if state.delta is None else runs[id(arrangement)]

    @cached_property
    def computing(self) -> list[str]:
        """The rules that make new values from recursive rows; without one, every recursion has an end."""
        return list(dict.fromkeys(e.query.rule.spoken() for e in self.following if e.query.computes))


class _Epoch:
    """One epoch of a component; if it `begins`, from nothing."""

    def __init__(self, component: Component, check: Check, begins: bool = False) -> None:
        self.component = component
        self.begins = begins
        self.check = check
        self.keeps_all = component.strategy is Strategy.NESTED
        self.keeps_counts = component.strategy is not Strategy.FULL
        # A row that only ever appears has one count, that of its first iteration.
        self.counts_rows = begins and component.strategy is Strategy.ELASTIC
        self.names = frozenset(component.states)
        self.environment = component.outer[0].environment
        self.thresholds = self.environment.thresholds
        self.agendas = {name: Agenda(self.thresholds.large) for name in component.states}
        self.changes = {name: Batch(self.thresholds.large) for name in component.states}
        self.found: dict[str, tuple[Run, ...]] = dict.fromkeys(component.states, ())
        self.started = Snapshot.of(component.states.values()).runs()
        self.patience = 0
        self.deadline = Deadline(self.environment.recursion_timeout)
        runs = [run for state in component.states.values() for run in state.contents.runs]
        self.horizon = max(_DEEP, 2 * max((run.max_time for run in runs), default=0))

    def first(self) -> int | None:
        return min((t for a in self.agendas.values() if (t := a.first()) is not None), default=None)

    def run(self) -> None:
        """Go through all iterations."""
        while (now := self.first()) is not None:
            if self._is_compiled(now):
                self._run_compiled()
            if (now := self.first()) is not None:
                self._check_end(now)
                try:
                    self.iterate(now)
                except CountOverflowError:
                    if self._is_circle(now):
                        raise circle_error(sorted(self.component.states)) from None
                    raise

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
        if self.deadline.is_past(now) and self.component.computing:
            raise limit_error(sorted(self.component.states), self.component.computing, now, self.deadline.timeout)

    def derive(
        self,
        evaluation: Evaluation,
        delta: Run,
        now: int,
        version: Callable[[Arrangement], tuple[Run, ...]] | None = None,
    ) -> None:
        """Push a change through one query; its derivations wait for their iterations."""
        head = evaluation.query.head
        past = None if self.keeps_all else Past(self.component.states[head].contents.runs, now)
        for derived in evaluation.run(delta, self.names, now, version, past):
            self.check(now)
            if self.keeps_all or derived.times.size or derived.consolidated or len(derived) < self.thresholds.large:
                self.agendas[head].derive(derived, now + 1)
            else:
                self.agendas[head].add(self._new(head, derived, now), now + 1)

    def _new(self, head: str, derived: Derived, now: int) -> Run:
        """The sum of the derivations, without those of rows whose first iteration is past: they are not kept."""
        words, weights = consolidate(derived.words, derived.weights)
        new = ~known(words, descriptors(self.component.states[head].contents.runs), now)
        return Run(words[:, new], weights=plain(weights[new]))

    def iterate(self, now: int) -> None:
        """Settle the rows of one iteration and push what changed through the rules."""
        self.check(now)
        self.environment.check()
        deltas = {
            name: d for name, agenda in self.agendas.items() if (d := self._settle(name, agenda, now)) is not None
        }
        for name, delta in deltas.items():
            self.component.states[name].append(delta)
            if not self.begins:
                self.changes[name].add_run(Run(delta.words, weights=delta.weights))
        for name, delta in deltas.items():
            for evaluation in self.component.inner.get(name, ()):
                self.derive(evaluation, delta, now)
        for name in deltas:
            self._compact(self.component.states[name])

    def _compact(self, state: State) -> None:
        """End the change of an iteration."""
        if self.counts_rows:
            state.share_counted()
        state.compact()

    def merged(self, state: State) -> Run:
        """The rows of a relation that began, in one run, which is the relation's then."""
        if self.counts_rows:
            assert state.counts is not None
            state.counts.merge()
            state.share_counted()
        state.contents.merge()
        if state.kind is Kind.RECURSIVE_BAG:
            return state.whole()
        return Run(state.contents.runs[0].words) if state.contents.runs else state.whole()

    def _settle(self, name: str, agenda: Agenda, now: int) -> Run | None:
        """The change of a relation at iteration `now`, None when there is none."""
        candidates = agenda.take(now)
        if candidates is None:
            return None
        state = self.component.states[name]
        words, change = candidates
        if state.kind is Kind.RECURSIVE_BAG:
            self._check_circles(change, now)
            return Run(words, time_array(len(change), now), plain(change)) if len(change) else None
        settled = self._settled(state, words, change, now)
        again, times = select(words, settled.later, settled.later - NEVER)
        if len(times):
            agenda.reconsider(again, times)
        if settled.lost.any():
            self._search(name, words[:, settled.lost], now)
        moved, signs = select(words, settled.actions, settled.actions)
        delta = Run(moved, time_array(len(signs), now), plain(signs)) if len(signs) else None
        if self.keeps_counts:
            self._count(state, words, settled.counted, now, delta)
        return delta

    def _check_circles(self, change: Weights, now: int) -> None:
        """Raise IterationLimitError where a row of a bag derives itself, which has no end.

        That is so when a derivation is longer than there are rows: one comes twice in it.
        """
        if now >= self.horizon and (change > 0).any():
            self.horizon = 2 * now
            if self._is_circle(now):
                raise circle_error(sorted(self.component.states))

    def _is_circle(self, now: int) -> bool:
        runs = [state.contents.runs for state in self.component.states.values() if state.contents.runs]
        return now - 1 > sum(len(present(of_one)[1]) for of_one in runs)

    def _settled(self, state: State, words: Words, change: Weights, now: int) -> Settled:
        """What becomes of the candidates of an iteration."""
        assert state.counts is not None
        found = self.found[state.relation.name]
        past, counts, later = (descriptors(r) for r in (state.contents.runs, state.counts.runs, found))
        return settle_all((words, change), now, past, counts, later, self.keeps_all, self.thresholds.large)

    def _count(self, state: State, words: Words, counted: Values, now: int, delta: Run | None) -> None:
        """Add the changes of counts at iteration `now`; where they are of the rows of `delta`, with its words."""
        rows, weights = select(words, counted, counted)
        if self.counts_rows and delta is not None:
            assert state.counts is not None
            state.counts.append(Run(delta.words, delta.times, plain(weights)))
        elif len(weights):
            state.count(Run(rows, time_array(len(weights), now), plain(weights)))

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
            self.agendas[name].reconsider(*select(words, times, times - NEVER))

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
                for arrangement in state.built.values():
                    arrangement.before = self.started[id(arrangement)]


def settle_all(
    candidates: tuple[Words, Weights],
    now: int,
    past: Descriptors,
    counts: Descriptors,
    found: Descriptors,
    keeps_all: bool,
    large: int,
) -> Settled:
    """What becomes of the candidates of an iteration; more than `large` are cut among threads."""
    words, change = candidates
    if len(change) <= large:
        return Settled(*settle(words, change, now, past, counts, found, keeps_all))

    def decide(part: slice) -> Settled:
        actions, counted, again, lost = settle(words[:, part], change[part], now, past, counts, found, keeps_all)
        return Settled(narrow(actions), narrow(counted), again, lost)

    cut = [slice(start, start + large) for start in range(0, len(change), large)]
    parts = run_all([partial(decide, part) for part in cut])
    return Settled(*map(np.concatenate, zip(*parts, strict=True)))


def select(words: Words, values: Values, mark: Values) -> tuple[Words, Values]:
    """The rows and values that are marked by something other than zero."""
    chosen = np.flatnonzero(mark)
    if len(chosen) == len(mark):
        return words, values
    return words[:, chosen], values[chosen]
