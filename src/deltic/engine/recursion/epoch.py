"""An epoch of a recursion in one store, whose queries run in one piece, without exchanges.

What must hold, in addition to the rules of the driver:

* The relations below have their final `delta`. It is pushed, as of iteration 0, before the first round.
* Afterwards `delta` of a relation that closes a cycle is what it gained and lost, in any iteration; its orders
  have `before` as of the start of the epoch. Rows that only moved to another iteration are no change.
* Compiled code runs small rounds, vectorised code the others; both give the same rows and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from deltic.engine.operators.query import Evaluation, Version
from deltic.engine.recursion.compiled_loop import CompiledEpoch
from deltic.engine.recursion.component import RecursiveComponent
from deltic.engine.recursion.driver import run_rounds, settle_round
from deltic.engine.recursion.lost import LostRows
from deltic.engine.recursion.pending import Candidates, PendingQueue, RoundId
from deltic.engine.recursion.settle import Effects, HistorySettler, SetSettler, Settler, look_at
from deltic.engine.recursion.signed.oscillation import ClosingRelations, rest_of
from deltic.engine.recursion.termination import Termination, shown
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.run import Run, merge_runs
from deltic.engine.storage.state import State
from deltic.engine.storage.store import StoreSnapshot

# Called regularly with the present iteration, 0 while the changes below are pushed. It may raise to end the epoch.
Check = Callable[[int], None]


def update(component: RecursiveComponent, lower: Mapping[str, State], check: Check) -> None:
    """Update a component, which is built for it, by the changes of `lower`, and set its relations' `delta`.

    Rows that only moved to another iteration are no change. If there are no others, the old version is the new one.
    """
    started = StoreSnapshot.of(component.states.values()).runs()
    epoch = RecursionEpoch(component, check)
    for evaluation in component.outer:
        delta = lower[evaluation.query.delta.relation].delta
        if delta is not None:
            epoch.derive(evaluation, delta, 0)
    run_rounds(epoch, epoch.termination)
    for name, batch in epoch.changes.items():
        _let_change(component.states[name], batch.run(), started)


def bootstrap(component: RecursiveComponent, lower: Mapping[str, State], check: Check) -> None:
    """Compute a component from nothing [ELA Alg. 1], and set the `delta` of its relations."""
    component.build_for_bootstrap()
    started = StoreSnapshot.of(component.states.values())
    old = {name: state.whole() for name, state in component.closing.items()}
    for arrangement, *_ in started.saved:
        arrangement.runs = arrangement.before = ()
    epoch = RecursionEpoch(component, check, begins=True)
    for evaluation in component.bases:
        whole = lower[evaluation.query.delta.relation].whole()
        if len(whole):
            epoch.derive(evaluation, whole, 0, lambda arrangement: arrangement.runs)
    run_rounds(epoch, epoch.termination)
    for name, state in component.closing.items():
        _let_change(state, merge_runs(old[name].negated(), epoch.settlers[name].begun()), started.runs())


def _let_change(state: State, change: Run | None, started: Mapping[int, Sequence[Run]]) -> None:
    """Set a relation's change over the whole epoch, and its version before it."""
    state.delta = change if change is not None and len(change) else None
    for arrangement in state.built.values():
        before = arrangement.runs if state.delta is None else started[id(arrangement)]
        arrangement.before = tuple(before)


class RecursionEpoch:
    """One epoch of a component, which runs its own rounds. With `begins`, it computes from nothing."""

    def __init__(self, component: RecursiveComponent, check: Check, begins: bool = False) -> None:
        self.component, self.begins, self._checked = component, begins, check
        self.environment, self._names = component.environment, frozenset(component.states)
        large = self.environment.thresholds.large
        self.queue = PendingQueue(component.levels, large)
        self.changes = {name: CountChanges(large) for name in component.closing}
        self.termination = Termination(component.bounds, rest_of(component.closing.values()))
        self.lost = LostRows(tuple(component.states), component.searches, self._before(), large, check)
        self.settlers = {name: self._settler(state) for name, state in component.states.items()}
        self._patience = 0
        self._begin()

    def _before(self) -> Version:
        """Return the version of arrangements before the epoch."""
        started = StoreSnapshot.of(self.component.states.values()).runs()

        def before(arrangement: Arrangement) -> tuple[Run, ...]:
            return started.get(id(arrangement), arrangement.before)

        return before

    def _settler(self, state: State) -> Settler:
        component, name = self.component, state.relation.name
        if state.kind is RelationKind.RECURSIVE:
            return SetSettler(state, self.environment, component.strategy, self.lost, self.begins)
        examined = component.examined.of(name)
        functions = component.outputs.get(name), component.inputs.get(name, ())
        return HistorySettler(state, self.environment, *examined, not self.begins, *functions)

    def _begin(self) -> None:
        """Start the epoch of examinations and functions. Functions that were never computed are due at iteration 0."""
        effects = Effects()
        self.component.examined.begin()
        for function in self.component.functions:
            function.begin()
            if not function.is_begun:
                look_at(function, 0, effects)
        effects.wait_in(self.queue)

    def derive(self, evaluation: Evaluation, delta: Run, now: int, version: Version | None = None) -> None:
        """Push a change through one query, and add its derivations to the queue at their iterations."""
        head = evaluation.query.head
        settler, rows = self.settlers[head], self.queue.of(head)
        for derived in evaluation.run(delta, self._names, now, version, settler.past(now)):
            self._checked(now)
            rows.derive(settler.admitted(derived, now), now + settler.delay)

    # Rounds

    def first(self) -> RoundId | None:
        """Return the least round with pending entries."""
        return self.queue.first()

    def closing(self) -> Sequence[ClosingRelations]:
        """Return the relations that close the cycles."""
        relations = {shown(name): state for name, state in self.component.closing.items()}
        return [ClosingRelations(relations, self.environment.interner)]

    def take(self, now: RoundId) -> int:
        """Run small rounds in compiled code, then one vectorised round."""
        if self.is_small(now):
            self._run_compiled()
            following = self.first()
            if following is None:
                return -1
            now = following
            self.termination.check(now.iteration)
        self._check(now.iteration)
        changes = self.settle(now)
        for name, change in changes.items():
            for evaluation in self.component.inner.get(name, ()):
                self.derive(evaluation, change, now.iteration)
        for name in changes:
            self.settlers[name].compact()
        return now.iteration if any(name in self.changes for name in changes) else -1

    def _check(self, now: int) -> None:
        self._checked(now)
        self.environment.check()

    def settle(self, now: RoundId) -> dict[str, Run]:
        """Settle a round. Return its changes by relation, which have been added to the rows."""
        changes: dict[str, Run] = {}

        def enter(name: str, change: Run) -> None:
            self.component.states[name].append(change)
            if name in self.changes and not self.begins:
                self.changes[name].add_run(Run(change.words, weights=change.weights))
            changes[name] = change

        def taken(name: str) -> Candidates | None:
            return self.queue.of(name).take(now.iteration)

        settle_round(self.queue.names(now), taken, self.settlers, now.iteration, enter).wait_in(self.queue)
        return changes

    def is_small(self, now: RoundId) -> bool:
        """Return whether so few rows are pending that compiled code should continue."""
        if self.component.compiled is None or self._patience > 0:
            self._patience -= 1
            return False
        thresholds = self.environment.thresholds
        return self.queue.waiting <= thresholds.most_waiting and self.queue.width(now) <= thresholds.most_rows

    def _run_compiled(self) -> None:
        """Run small rounds in compiled code. If there were few of them, vectorised code runs the next ones."""
        assert self.component.compiled is not None
        thresholds = self.environment.thresholds

        def check(now: int) -> None:
            self.termination.check(now)
            self._check(now)

        given = self.queue, self.changes, self.lost, self.termination
        done = self.component.compiled.run(CompiledEpoch(*given, self.begins, check))
        self._patience = 0 if done > thresholds.worthwhile else thresholds.rest
