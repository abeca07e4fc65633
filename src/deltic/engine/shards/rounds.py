"""The part of one shard in a recursion that takes rounds of exchanges: a round for each iteration, least first.

Rows carry the iteration at which they are first derived, as in the local engine (`engine.local.recursion.fixpoint`),
and each shard keeps the derivations at every iteration of those rows of the recursive relations that it is the home
of. So a round settles at home what comes and goes at its iteration; that is told to the other places of the relations,
is followed through the rules, piece by piece, and comes home as derivations of later iterations, which wait for these.
They end when nothing waits on any shard. All changes of a round are known everywhere before any is followed, and none
is added before all are followed: by multilinearity each is followed once, beside the others as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

import numpy as np

from deltic.engine.local.kernels.settle import NEVER
from deltic.engine.local.operators.query import Environment, Evaluation
from deltic.engine.local.operators.search import Derived
from deltic.engine.local.plan.plan import Access
from deltic.engine.local.recursion.fixpoint import select, settle_all
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.storage.arrangement import Arrangement, descriptors, time_array
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.layout import Layout
from deltic.engine.local.storage.run import NO_TIMES, NO_WEIGHTS, Run, Weights, Words, add_runs, merge_runs, plain
from deltic.engine.local.storage.state import Role, State
from deltic.engine.shards.plan import Iterate
from deltic.program.queries import When

# What a relation keeps of what waits: derivations, and rows to be looked at again.
_HELD: tuple[Role, Role] = ("waiting", "again")
# What it keeps of the epoch's changes so far.
_CHANGED: Role = "changed"


class TimedPiece(Evaluation):
    """A piece of a delta query in a recursion: each of its atoms is read in the state that it names."""

    def _is_new(self, access: Access, recursive: object) -> bool:
        return access.when is When.NEW


class Rounds:
    """What waits on a shard for its iteration, and what the rounds of the present epoch have changed there."""

    def __init__(self, step: Iterate, states: Mapping[str, State], environment: Environment) -> None:
        self.step, self.environment = step, environment
        self.homes = {name: states[name] for name in step.stratum.relations}
        self.timed = {name: states[name] for name in sorted(step.timed)}
        self._was_held = any((_CHANGED, state.canonical) in state.auxiliary for state in self.timed.values())
        self.forget()

    def forget(self) -> None:
        """Forget the epoch."""
        self._agendas: dict[str, tuple[Layout, Agenda]] = {}
        self._started: list[tuple[Arrangement, Layout, tuple[Run, ...]]] = []

    def begin(self) -> None:
        """Nothing has changed yet, and nothing waits."""
        self._start()
        for state in self.timed.values():
            changed = self._kept(state, _CHANGED)
            changed.layout, changed.runs = state.layout, ()

    def _start(self) -> None:
        """Remember the rows of before the epoch, which are now those of before each change of a round."""
        self.forget()
        for state in self.timed.values():
            for arrangement in state.built.values():
                self._started.append((arrangement, arrangement.layout, arrangement.before))
                arrangement.before = arrangement.runs

    def roll_back(self) -> None:
        """The relations are as before the epoch, or as they were held: forget what came since."""
        self.forget()
        if not self._was_held:
            self._drop()

    @property
    def is_empty(self) -> bool:
        """Whether the relations have no row."""
        return not any(state.contents.runs for state in self.homes.values())

    def receive(self, name: str, run: Run) -> None:
        """Derivations of a relation, with their iterations, wait for these."""
        agenda = self._agenda(name)
        for time, words, weights in by_time(run):
            agenda.add(Run(words, weights=plain(weights)), time)

    def _agenda(self, name: str) -> Agenda:
        """What waits for a relation, packed as its rows are now."""
        state = self.homes[name]
        layout, agenda = self._agendas.get(name, (state.layout, Agenda(self.environment.thresholds.large)))
        if layout is not state.layout:
            waiting, agenda = agenda, Agenda(self.environment.thresholds.large)
            for time, words, weights in waiting.drain():
                moved = state.contents.repacked(Run(words, weights=weights), layout, state.layout)
                if weights.any():
                    agenda.derive(Derived(moved.words, NO_TIMES, moved.all_weights()), time)
                else:
                    agenda.reconsider(moved.words, time_array(len(moved), time))
        self._agendas[name] = state.layout, agenda
        return agenda

    def first(self) -> int | None:
        """The least iteration for which anything waits."""
        return min((t for _, agenda in self._agendas.values() if (t := agenda.first()) is not None), default=None)

    @property
    def waiting(self) -> int:
        """How many rows wait, each as often as it is derived from another part of a batch."""
        return sum(agenda.waiting for _, agenda in self._agendas.values())

    def settle(self, now: int) -> None:
        """Let rows of this shard come and go at iteration `now`: all earlier ones are final."""
        self.environment.check()
        for name in self._agendas:
            self._settle(name, now)

    def _settle(self, name: str, now: int) -> None:
        agenda, state = self._agenda(name), self.homes[name]
        candidates = agenda.take(now)
        if candidates is None:
            return
        words, _ = candidates
        assert state.counts is not None
        past, counts = descriptors(state.contents.runs), descriptors(state.counts.runs)
        found = settle_all(candidates, now, past, counts, descriptors(()), True, self.environment.thresholds.large)
        again, times = select(words, found.later, found.later - NEVER)
        if len(times):
            agenda.reconsider(again, times)
        counted, weights = select(words, found.counted, found.counted)
        if len(weights):
            state.count(Run(counted, time_array(len(weights), now), plain(weights)))
        moved, signs = select(words, found.actions, found.actions)
        if len(signs):
            self.change(name, Run(moved, time_array(len(signs), now), plain(signs)), kept=True)

    def change(self, name: str, run: Run, kept: bool) -> None:
        """Let a relation change in this round, at home or at another place of it, where its rows may be `kept`."""
        state = self.timed[name]
        state.delta = run
        if kept:
            state.append(run)
        self._kept(state, _CHANGED).add(Run(run.words, weights=run.weights))

    @property
    def is_active(self) -> bool:
        """Whether anything has changed in this round."""
        return any(state.delta is not None for state in self.timed.values())

    def end_round(self) -> None:
        """The changes of the round are part of the relations."""
        for state in self.timed.values():
            if state.delta is not None:
                state.delta = None
                state.compact()

    def finish(self) -> None:
        """The changes of the whole epoch, whatever the iteration, and the versions of before them.

        Rows that only moved to another iteration are no change: then the old version is the new one.
        """
        self._let_be_before()
        for state in self.timed.values():
            changed = self._kept(state, _CHANGED)
            changed.merge()
            state.delta = changed.runs[0] if changed.runs and len(changed.runs[0]) else None
            if state.delta is None:
                for arrangement in state.built.values():
                    arrangement.before = arrangement.runs
        self._drop()
        self.forget()

    def _drop(self) -> None:
        """Keep nothing of the rounds beside the relations."""
        for state in self.timed.values():
            for role in (_CHANGED, *_HELD):
                state.auxiliary.pop((role, state.canonical), None)

    def _let_be_before(self) -> None:
        """Let the version of before be that of before the epoch."""
        for arrangement, layout, runs in self._started:
            arrangement.before = tuple(
                run if layout is arrangement.layout else arrangement.repacked(run, layout, arrangement.layout)
                for run in runs
            )

    def hold(self) -> None:
        """Let the relations keep what waits, so that it is written with them, and the version of before the epoch."""
        self._let_be_before()
        for name, state in self.homes.items():
            entries = list(self._agenda(name).drain())
            again = [(time, words, NO_WEIGHTS) for time, words, weights in entries if not weights.any()]
            waiting = [entry for entry in entries if entry[2].any()]
            for role, found in zip(_HELD, (waiting, again), strict=True):
                held, run = self._kept(state, role), of_times(found)
                held.layout, held.runs = state.layout, () if run is None else (run,)

    def load(self) -> None:
        """Go on from what was held."""
        self._start()
        for name, state in self.homes.items():
            for role in _HELD:
                held = self._kept(state, role)
                for run in held.runs:
                    there = run if held.layout == state.layout else held.repacked(run, held.layout, state.layout)
                    if role == "waiting":
                        self.receive(name, there)
                    else:
                        self._agenda(name).reconsider(there.words, there.times)

    def _kept(self, state: State, role: Role) -> Arrangement:
        """Where a relation keeps what waits, or has changed."""
        return state.keep(role, state.canonical, state.domains)


def in_rounds(rounds: int, shards: int) -> str:
    """How a recursion was brought up to date, for a report."""
    return f"in {rounds:,} round{'s' * (rounds != 1)} over {shards} shards"


def by_time(run: Run) -> Iterator[tuple[int, Words, Weights]]:
    """The rows of each iteration with their weights; without times they are of iteration 0."""
    weights = run.all_weights()
    if not run.times.size or (run.times == run.max_time).all():
        yield run.max_time, run.words, weights
        return
    for time in np.unique(run.times).tolist():
        chosen = run.times == time
        yield int(time), run.words[:, chosen], weights[chosen]


def of_times(parts: Iterable[tuple[int, Words, Weights]]) -> Run | None:
    """The sum of rows, each part of one iteration, as a run; None where nothing is left."""
    batches: dict[int, Batch] = {}
    for time, words, weights in parts:
        batches.setdefault(time, Batch()).add(words, weights)
    runs: tuple[Run, ...] = ()
    for time, batch in sorted(batches.items()):
        if (run := batch.run()) is not None:
            runs = add_runs(runs, Run(run.words, time_array(len(run), time), run.weights))
    return reduce(merge_runs, reversed(runs)) if runs else None


def derived_by_time(found: Iterable[Derived], now: int) -> Run | None:
    """The sum of derivations; those without times of their own are of iteration `now`."""

    def parts() -> Iterator[tuple[int, Words, Weights]]:
        for derived in found:
            if not derived.times.size:
                yield now, derived.words, derived.weights
                continue
            for time in np.unique(derived.times).tolist():
                chosen = derived.times == time
                weights = derived.weights[chosen] if derived.weights.size else derived.weights
                yield int(time), derived.words[:, chosen], weights

    return of_times(parts())
