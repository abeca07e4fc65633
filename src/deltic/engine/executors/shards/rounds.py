"""One shard's part in a recursion with rounds of exchanges: a round for each iteration, least first.

What must hold, in addition to the rules of the driver, its queue and its settlers:

* A row is only settled at its home, which stores its derivations at every iteration.
* All changes of a round reach every placement of their relation before any is pushed through the rules, and stay
  separate from older rows until all are: by multilinearity each is pushed once.
* Derivations reach their home before the next round is chosen, and are queued there.
* All rows of a group are on one shard, with the relation that is computed from them, so the examinations of one store
  also work on a shard. The epoch's changes are stored with the relation: an examination reads its drift from there
  after rows were repacked, and in the next job.
* A round that lacked room is settled again from the same candidates, repacked; nothing of it has entered the queue.

Rows with iterations are split into parts of one iteration each, and merged into runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce

import numpy as np

from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.plan_steps import Iterate
from deltic.engine.executors.shards.task_memory import reason_in_rounds
from deltic.engine.operators.query import Environment
from deltic.engine.operators.search import Derivations
from deltic.engine.options import Options
from deltic.engine.recursion.driver import settle_round
from deltic.engine.recursion.pending import Candidates, PendingQueue, RoundId
from deltic.engine.recursion.settle import HistorySettler, SetSettler, Settler
from deltic.engine.recursion.signed.choosing import examinations_of
from deltic.engine.recursion.signed.oscillation import rest_of
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.recursion.termination import Bounds, Termination
from deltic.engine.result import ComponentReport
from deltic.engine.storage.arrangement import Arrangement, time_array
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.kinds import RelationKind, kind_of
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import NO_WEIGHTS, Run, Times, Weights, Words, add_runs, merge_runs
from deltic.engine.storage.state import Role, State
from deltic.engine.storage.store import Store
from deltic.errors import count_of
from deltic.program.histories import History
from deltic.program.program import Program

# The roles of a relation's stored queue entries: pending derivations, and rows to look at again.
_HELD: tuple[Role, Role] = ("waiting", "again")
# The role of the epoch's changes so far.
_CHANGED: Role = "changed"


class Rounds:
    """The pending rows on a shard, and the changes of the present epoch's rounds.

    `inside` are the recursion's placed relations that nothing else reads. `reached` is the last iteration at which one
    of the others has changed at home since the rounds started here or resumed; −1 if none has.
    """

    def __init__(
        self, step: Iterate, states: Mapping[str, State], environment: Environment, inside: Collection[str]
    ) -> None:
        self.step, self.environment, self.inside = step, environment, inside
        self.homes = {name: states[name] for name in step.stratum.relations}
        self.timed = {name: states[name] for name in sorted(step.timed)}
        self._examined = examinations_of(self.homes, environment)
        self._settlers = {name: self._settler(state) for name, state in self.homes.items()}
        self._was_held = any((_CHANGED, state.canonical) in state.auxiliary for state in self.timed.values())
        self.forget()

    def _settler(self, state: State) -> Settler:
        if state.kind is RelationKind.RECURSIVE:
            return SetSettler(state, self.environment)
        return HistorySettler(state, self.environment, *self._examined.of(state.relation.name))

    def forget(self) -> None:
        """Discard the epoch."""
        self.queue = PendingQueue(self.step.levels, self.environment.thresholds.large)
        """The pending rows."""
        self._packed = {name: state.layout for name, state in self.homes.items()}
        self._started: list[tuple[Arrangement, Layout, tuple[Run, ...]]] = []
        self._taken: dict[str, tuple[Layout, Candidates]] = {}
        self.drifts: dict[str, tuple[Layout, ...]] = {}
        """The layouts of the rows from which the drift of groups was loaded; none if it must be loaded again."""
        self.reached = -1

    def build(self) -> None:
        """Build the orders in which groups of histories are read."""
        self._examined.build()

    def begin(self) -> None:
        """Start the rounds of an epoch, with no changes and an empty queue."""
        self._start()
        for state in self.timed.values():
            changed = self._kept(state, _CHANGED)
            changed.layout, changed.runs = state.layout, ()

    def _start(self) -> None:
        """Save the versions before the epoch; `before` is from now on the version before each change of a round."""
        self.forget()
        for state in self.timed.values():
            for arrangement in state.built.values():
                self._started.append((arrangement, arrangement.layout, arrangement.before))
                arrangement.before = arrangement.runs

    def roll_back(self) -> None:
        """Discard changes since the epoch started, or since the rounds were held."""
        self.forget()
        if not self._was_held:
            self._drop()

    @property
    def is_empty(self) -> bool:
        """Return whether the relations have no rows."""
        return not any(state.contents.runs for state in self.homes.values())

    @property
    def deepest(self) -> int:
        """Return the last iteration of any row in the relations that close a cycle."""
        return rest_of(self.homes[name] for name in self.step.closing)

    def receive(self, name: str, run: Run) -> None:
        """Queue derivations of a relation at their iterations."""
        self._keep_up()
        for time, words, weights in by_time(run):
            self.queue.of(name).add(Run(words, weights=weights), time)

    def _keep_up(self) -> None:
        """Repack pending rows whose relation was repacked."""
        for name, state in self.homes.items():
            if (packed := self._packed[name]) is not state.layout:
                self.queue.repack(name, partial(state.contents.adapted, layout=packed))
                self._packed[name] = state.layout

    def take(self, now: RoundId) -> None:
        """Take the pending entries of a round. All earlier rounds are final."""
        self.environment.check()
        self._keep_up()
        taken = self.queue.take(now)
        self._taken = {name: (self.homes[name].layout, candidates) for name, candidates in taken.items()}

    def settle(self, now: RoundId) -> None:
        """Settle the rows of this shard in a round. New entries are queued when all of them are settled.

        Raises DomainOverflow if a value of a group has no place. Once there is room and all is restored, it may be
        repeated.
        """
        self._load_drifts()

        def enter(name: str, change: Run) -> None:
            self.change(name, change, kept=True)
            self.reached = max(self.reached, now.iteration if self._settlers[name].delay else -1)

        names = self.step.levels[now.level]
        effects = settle_round(names, self._repacked, self._settlers, now.iteration, enter)
        self._taken = {}
        self._keep_up()
        effects.wait_in(self.queue)

    def _repacked(self, name: str) -> Candidates | None:
        """Return the candidates of a relation, repacked in its present layout."""
        if name not in self._taken:
            return None
        contents, (layout, (words, weights)) = self.homes[name].contents, self._taken[name]
        if layout is contents.layout:
            return words, weights
        moved = contents.adapted(Run(words, weights=weights), layout)
        return moved.words, moved.all_weights()

    def _load_drifts(self) -> None:
        """Load the drift of all groups, in the present layouts, if it is missing or rows were repacked."""
        for name, examination in self._examined.by_source.items():
            packed = tuple(part.layout for part in (examination.source, examination.target, examination.order))
            known = self.drifts.get(name, ())
            if len(known) != len(packed) or any(a is not b for a, b in zip(known, packed, strict=True)):
                examination.begin()
                for run in self._kept(examination.source, _CHANGED).runs:
                    examination.drifts(run)
                self.drifts[name] = packed

    def change(self, name: str, run: Run, kept: bool) -> None:
        """Set the change of a relation in this round, at home or at another placement, whose rows may be `kept`."""
        state = self.timed[name]
        state.delta = run
        if kept:
            state.append(run)
        self._kept(state, _CHANGED).add(Run(run.words, weights=run.weights))

    @property
    def is_active(self) -> bool:
        """Return whether anything has changed in this round."""
        return any(state.delta is not None for state in self.timed.values())

    def end_round(self) -> None:
        """Make the changes of the round part of the relations."""
        for state in self.timed.values():
            if state.delta is not None:
                state.delta = None
                state.compact()

    def finish(self) -> None:
        """Set the changes of the whole epoch, in any iteration, and the versions before them.

        Rows that only moved to another iteration are no change. If there are no others, the old version is the new one.
        """
        self._let_be_before()
        for name, state in self.timed.items():
            changed = self._kept(state, _CHANGED)
            changed.merge()
            is_told = name not in self.inside and changed.runs and len(changed.runs[0])
            state.delta = changed.runs[0] if is_told else None
            if state.delta is None:
                for arrangement in state.built.values():
                    arrangement.before = arrangement.runs
        self._drop()
        self.forget()

    def _drop(self) -> None:
        """Drop all state of the rounds beside the relations."""
        for state in self.timed.values():
            for role in (_CHANGED, *_HELD):
                state.auxiliary.pop((role, state.canonical), None)

    def _let_be_before(self) -> None:
        """Restore the versions before the epoch as `before`."""
        for arrangement, layout, runs in self._started:
            arrangement.before = tuple(arrangement.adapted(run, layout) for run in runs)

    def hold(self) -> None:
        """Store pending rows with the relations, to be written, and restore the versions before the epoch."""
        self._let_be_before()
        self._keep_up()
        for name, state in self.homes.items():
            entries = list(self.queue.of(name).drain())
            again = [(time, words, NO_WEIGHTS) for time, words, weights in entries if not weights.any()]
            waiting = [entry for entry in entries if entry[2].any()]
            for role, result in zip(_HELD, (waiting, again), strict=True):
                held, run = self._kept(state, role), of_times(result)
                held.layout, held.runs = state.layout, () if run is None else (run,)

    def load(self) -> None:
        """Resume from the stored pending rows."""
        self._start()
        for name, state in self.homes.items():
            for role in _HELD:
                held = self._kept(state, role)
                for run in held.runs:
                    there = state.contents.adapted(run, held.layout)
                    if role == "waiting":
                        self.receive(name, there)
                    else:
                        self._keep_up()
                        self.queue.of(name).reconsider(there.words, there.times)

    def _kept(self, state: State, role: Role) -> Arrangement:
        """Return the arrangement of a relation's pending rows or changes."""
        return state.keep(role, state.canonical, state.domains)


def termination_of(step: Iterate, program: Program, options: Options, deepest: int) -> Termination:
    """Return the termination test of rounds, before which the recursion's rows had iterations up to `deepest`."""
    relations = step.stratum.relations
    definitions = [program.relations[name].definition for name in relations]
    jumps = any(isinstance(each, History) and each.admission is not None for each in definitions)
    has_bags = any(kind_of(program, name) is RelationKind.RECURSIVE_BAG for name in relations)
    known = relations, step.closing, step.computing, step.stratum.signed, jumps, has_bags
    return Termination(Bounds(*known, options.iteration_limit, options.recursion_timeout), deepest)


def report_of_rounds(
    plan: ShardPlan,
    step: Iterate,
    stores: Sequence[Store],
    limit: int | None,
    was_empty: bool,
    rounds: str,
    rows: Callable[[str], int],
    cost: tuple[int, float],
) -> ComponentReport:
    """Return the report on a recursion in rounds, with the rows visited and the seconds that they cost.

    `rounds` says how many there were, and `rows` returns how many rows of a relation have changed.
    """
    return ComponentReport(
        step.stratum.relations,
        "signed" if step.stratum.signed else Strategy.NESTED.value,
        "bootstrap" if was_empty else "update",
        rounds,
        sum(map(rows, plan.followed(step))),
        sum(map(rows, step.stratum.relations)),
        *cost,
        sum(store.states[name].nbytes for store in stores for name in step.timed),
        reason_in_rounds(plan, step, stores, limit),
    )


def in_rounds(rounds: int, shards: int) -> str:
    """Return how a recursion was updated, for reports."""
    return f"in {count_of(rounds, 'round')} over {shards} shards"


def by_time(run: Run) -> Iterator[tuple[int, Words, Weights]]:
    """Yield the rows of each iteration with their weights. Rows without times belong to iteration 0."""
    weights = run.all_weights()
    if not run.times.size or (run.times == run.max_time).all():
        yield run.max_time, run.words, weights
        return
    yield from _apart(run.words, weights, run.times)


def _apart(words: Words, weights: Weights, times: Times) -> Iterator[tuple[int, Words, Weights]]:
    """Yield the rows of each iteration. Weights may be empty if all are 1."""
    for time in np.unique(times).tolist():
        chosen = times == time
        yield int(time), words[:, chosen], weights[chosen] if weights.size else weights


def of_times(parts: Iterable[tuple[int, Words, Weights]]) -> Run | None:
    """Return the sum of parts of one iteration each as a run; None if it is empty."""
    batches: dict[int, CountChanges] = {}
    for time, words, weights in parts:
        batches.setdefault(time, CountChanges()).add(words, weights)
    runs: tuple[Run, ...] = ()
    for time, batch in sorted(batches.items()):
        if (run := batch.run()) is not None:
            runs = add_runs(runs, Run(run.words, time_array(len(run), time), run.weights))
    return reduce(merge_runs, reversed(runs)) if runs else None


def derived_by_time(found: Iterable[Derivations], now: int) -> Run | None:
    """Return the sum of derivations. Those without times of their own belong to iteration `now`."""

    def parts() -> Iterator[tuple[int, Words, Weights]]:
        for derived in found:
            if derived.times.size:
                yield from _apart(derived.words, derived.weights, derived.times)
            else:
                yield now, derived.words, derived.weights

    return of_times(parts())
