"""One epoch of histories: changes are followed by iteration and, in an iteration, in the order of the body.

A change at an iteration is final when it is the least that waits: all that could add to it is at a lesser iteration or
earlier in the body. It meets the histories of the others as they are, later entries included, so each derivation is
found once [DBSP Thm 4.5]; what it derives with a later entry is of the later iteration. Changes that add up to nothing
are not followed. So the histories after the epoch are those of a bootstrap, and the end is that nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from deltic.circuit.iterations import Deadline, limit_error
from deltic.engine.local.operators.query import Evaluation
from deltic.engine.local.operators.search import Derived
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.recursion.signed.admission import Depth, admitted
from deltic.engine.local.recursion.signed.examination import Examination
from deltic.engine.local.recursion.signed.oscillation import Part, Watch, rest_of
from deltic.engine.local.recursion.signed.relations import SignedRelations
from deltic.engine.local.recursion.signed.whole import Whole
from deltic.engine.local.storage.arrangement import Arrangement, time_array
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.run import Run, Words, merge_runs, plain
from deltic.engine.local.storage.state import Snapshot, State
from deltic.program.histories import BY_ITERATION

# Called again and again with the iteration that is reached, 0 while the changes below are pushed; may raise to end it.
Check = Callable[[int], None]


def follow_epoch(component: SignedRelations, lower: Mapping[str, State], check: Check) -> None:
    """Bring the histories up to date with the changes of `lower`; sets the `delta` of what closes a cycle."""
    started = Snapshot.of(component.states.values()).runs()
    epoch = _Epoch(component, check, begins=False)
    for evaluation in component.outer:
        delta = lower[evaluation.query.delta.relation].delta
        if delta is not None:
            epoch.derive(evaluation, delta, 0)
    epoch.run()
    for name, batch in epoch.changes.items():
        state = component.states[name]
        state.delta = batch.run()
        if state.delta is not None:
            for arrangement in state.built.values():
                arrangement.before = started[id(arrangement)]


def begin_epoch(component: SignedRelations, lower: Mapping[str, State], check: Check) -> None:
    """Compute the histories from nothing; sets the `delta` of what closes a cycle."""
    started = Snapshot.of(component.states.values())
    old = {name: component.states[name].whole() for name, delay in component.delays.items() if delay}
    for arrangement, *_ in started.saved:
        arrangement.runs = arrangement.before = ()
    epoch = _Epoch(component, check, begins=True)
    for evaluation in component.bases:
        whole = lower[evaluation.query.delta.relation].whole()
        if len(whole):
            epoch.derive(evaluation, whole, 0, lambda arrangement: arrangement.runs)
    epoch.run()
    runs = started.runs()
    for name, before in old.items():
        state = component.states[name]
        changed = merge_runs(before.negated(), state.whole())
        state.delta = changed if len(changed) else None
        for arrangement in state.built.values():
            arrangement.before = arrangement.runs if state.delta is None else runs[id(arrangement)]


class _Epoch:
    """One epoch of a component; if it `begins`, from nothing."""

    def __init__(self, component: SignedRelations, check: Check, begins: bool) -> None:
        self.component, self.check, self.begins = component, check, begins
        self.names = frozenset(component.states)
        self.environment = component.environment
        large = self.environment.thresholds.large
        self.agendas = {name: Agenda(large) for name in component.states}
        self.changes = {name: Batch(large) for name, delay in component.delays.items() if delay}
        self.patience = 0
        self.deadline = Deadline(self.environment.recursion_timeout)
        self.admissions = component.admissions
        self.depth = Depth(jumps=bool(self.admissions))
        delayed = {_shown(name): component.states[name] for name, delay in component.delays.items() if delay}
        self.closing = Part(delayed, self.environment.interner)
        self.watch = Watch(rest_of(delayed.values()))
        for examination in component.examined.values():
            examination.begin()
        for function in component.functions:
            function.begin()
            if not function.is_begun:
                self._look(function, 0)

    def derive(
        self,
        evaluation: Evaluation,
        delta: Run,
        now: int,
        version: Callable[[Arrangement], tuple[Run, ...]] | None = None,
    ) -> None:
        """Push a change through one query; its derivations wait for their iterations.

        A query tells an iteration more than the greatest that it meets: that at which a delayed relation has it.
        """
        head = evaluation.query.head
        early = 1 - self.component.delays[head]
        for derived in evaluation.run(delta, self.names, now, version):
            self.check(now)
            times = derived.times - np.int32(early) if derived.times.size else derived.times
            found = Derived(derived.words, times, derived.weights, derived.consolidated)
            if head in self.admissions and len(found):
                found = admitted(self.component.states[head], self.admissions[head], found, now + 1 - early)
            self.agendas[head].derive(found, now + 1 - early)

    def run(self) -> None:
        """Follow all changes, the least first."""
        while (found := self._first()) is not None:
            now, name = found
            if self._is_compiled(name, now):
                self._run_compiled()
                if (found := self._first()) is None:
                    return
                now, name = found
            self.check(now)
            self.environment.check()
            self._follow(name, now)

    def _first(self) -> tuple[int, str] | None:
        """The least iteration at which anything waits, and the first relation in it for which something does."""
        waiting = [(time, name) for name, agenda in self.agendas.items() if (time := agenda.first()) is not None]
        return min(waiting, key=lambda found: (found[0], self.component.places[found[1]]), default=None)

    def _is_compiled(self, name: str, now: int) -> bool:
        """Whether so little waits that compiled code should go on."""
        if self.component.compiled is None or self.patience > 0:
            self.patience -= 1
            return False
        thresholds = self.environment.thresholds
        few = sum(agenda.waiting for agenda in self.agendas.values()) <= thresholds.most_waiting
        return few and self.agendas[name].width(now) <= thresholds.most_rows

    def _run_compiled(self) -> None:
        """Follow small changes; where these were few, the next ones are left to vectorised code."""
        assert self.component.compiled is not None
        thresholds = self.environment.thresholds

        def check(now: int) -> None:
            self._check_time(now)
            self.check(now)
            self.environment.check()

        updates, follow = not self.begins, self.component.compiled.follow
        done = follow(self.agendas, self.changes, updates, self.depth, self._watched, check)
        self.patience = 0 if done > thresholds.worthwhile else thresholds.rest

    def _follow(self, name: str, now: int) -> None:
        """Take up the change of a relation at an iteration, push it through the rules and examine its groups."""
        taken = self.agendas[name].take(now)
        if taken is None:
            return
        look = self.component.looks.get(name)
        if look is None:
            words, weights = taken
        else:
            found = look.change(now)
            words, weights = found.words, found.all_weights()
        state, examination = self.component.states[name], self.component.examined.get(name)
        changed = weights != 0
        change = Run(words[:, changed], time_array(int(changed.sum()), now), plain(weights[changed]))
        if len(change):
            self._check_end(name, change, now)
            self._enter(name, change, now)
            if name in self.changes and not self.begins:
                self.changes[name].add_run(Run(change.words, weights=change.weights))
            for evaluation in self.component.inner.get(name, ()):
                self.derive(evaluation, change, now)
        if look is not None and (later := look.function.following(now)) is not None:
            self._look(look.function, later)
        for function in self.component.entering.get(name, ()) if len(change) else ():
            if not self.begins:
                function.drift(state, change)
            self._look(function, now)
        if examination is not None and words.shape[1]:
            if not self.begins:
                examination.drifts(change)
            self._examine(examination, words, change, now)
        if len(change):
            state.compact()

    def _enter(self, name: str, change: Run, now: int) -> None:
        """Let a change be part of a history."""
        self.component.states[name].append(change)
        if name in self.component.by_iteration:
            self.component.by_iteration[name].add(change, now)

    def _look(self, function: Whole, time: int) -> None:
        """Let what comes of a function of whole relations be looked at at an iteration."""
        for name, look in self.component.looks.items():
            if look.function is function:
                self.agendas[name].reconsider(look.probe, time_array(1, time))

    def _examine(self, examination: Examination, words: Words, change: Run, now: int) -> None:
        """Let the change of what is examined wait for its iteration, and groups for their next one."""
        found = examination.examine(words, change, now)
        name, target = examination.source.relation.name, examination.target.relation.name
        self.agendas[target].add(found.change, now + self.component.delays[target])
        if len(found.times):
            self.agendas[name].reconsider(found.again, found.times)

    def _check_time(self, now: int) -> None:
        """Raise IterationLimitError where a recursion that computes values has gone on for too long."""
        if self.deadline.is_past(now) and self.component.computing:
            shown = sorted(_shown(name) for name, delay in self.component.delays.items() if delay)
            raise limit_error(shown, self.component.computing, now, self.deadline.timeout)

    @property
    def _watched(self) -> int:
        """The depth from which on it is asked whether there is an end; values that improve do not go round."""
        limit = self.environment.iteration_limit
        return limit if self.depth.jumps else min(limit, self.watch.horizon)

    def _check_end(self, name: str, change: Run, now: int) -> None:
        """Raise IterationLimitError where a recursive relation changes past the limit, or grows without an end.

        And where all recursive relations are as they were in an earlier iteration; that is looked for now and then.
        """
        self._check_time(now)
        limit, delays = self.environment.iteration_limit, self.component.delays
        shown = sorted(_shown(name) for name, delay in delays.items() if delay)
        if delays[name] and self.depth.reach(now) > self._watched:
            if not self.depth.jumps:
                self.watch.look(now, [self.closing])
            if self.depth.depth > limit:
                raise limit_error(shown, self.component.computing, limit)


def _shown(name: str) -> str:
    """What a recursive relation is called, of which this is the history."""
    return name.removesuffix(BY_ITERATION)
