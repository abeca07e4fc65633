"""The part of one shard in a recursion that takes rounds of exchanges: a round for each iteration, least first.

Rows of sets carry the iteration at which they are first derived, as in the local engine (`engine.local.recursion`), and
each shard keeps the derivations at every iteration of those rows of the recursive relations that it is the home of.
Rows of bags, and of histories, carry each iteration at which their weights change. So a round settles at home what
comes and goes at its iteration; that is told to the other places of the relations, is followed through the rules, piece
by piece, and comes home as derivations of later iterations, which wait for these. They end when nothing waits on any
shard. All changes of a round are known everywhere before any is followed, and none is added before all are followed: by
multilinearity each is followed once, beside the others as they are. Relations that follow others at the same iteration
have a round of their own for it, of a later level.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from deltic.engine.local.kernels.settle import NEVER
from deltic.engine.local.operators.query import Environment, Evaluation
from deltic.engine.local.operators.search import Derived
from deltic.engine.local.plan.plan import Access
from deltic.engine.local.recursion.fixpoint import select, settle_all
from deltic.engine.local.recursion.pending import Agenda
from deltic.engine.local.recursion.signed.oscillation import rest_of
from deltic.engine.local.recursion.strategy import Strategy
from deltic.engine.local.storage.arrangement import Arrangement, descriptors, time_array
from deltic.engine.local.storage.kinds import Kind
from deltic.engine.local.storage.layout import Layout
from deltic.engine.local.storage.run import NO_TIMES, NO_WEIGHTS, Run, Times, Weights, Words, consolidate, plain
from deltic.engine.local.storage.state import Role, State
from deltic.engine.shards.histories import Histories
from deltic.engine.shards.plan import Iterate, Turn
from deltic.engine.shards.times import by_time, of_times
from deltic.program.histories import delay_of
from deltic.program.queries import When

# What a relation keeps of what waits: derivations, and rows to be looked at again.
_HELD: tuple[Role, Role] = ("waiting", "again")
# What it keeps of the epoch's changes so far.
_CHANGED: Role = "changed"

# The rows of an iteration, sorted and distinct, with the changes of their weights, 0 where they are looked at again.
Candidates = tuple[Words, Weights]


class TimedPiece(Evaluation):
    """A piece of a delta query in a recursion: each of its atoms is read in the state that it names."""

    def _is_new(self, access: Access, recursive: object) -> bool:
        return access.when is When.NEW


class Rounds:
    """What waits on a shard for its iteration, and what the rounds of the present epoch have changed there.

    `inside` are those of the recursion's placed relations that nobody else reads. `reached` is the last iteration at
    which one of the others has changed at home since the rounds began here, or went on; −1 where none has.
    """

    def __init__(
        self, step: Iterate, states: Mapping[str, State], environment: Environment, inside: Collection[str]
    ) -> None:
        self.step, self.environment, self.inside = step, environment, inside
        self.homes = {name: states[name] for name in step.stratum.relations}
        self.timed = {name: states[name] for name in sorted(step.timed)}
        self.delays = {name: delay_of(state.relation.definition) for name, state in self.homes.items()}
        self._histories = Histories(self.homes, environment, lambda state: self._kept(state, _CHANGED))
        self._was_held = any((_CHANGED, state.canonical) in state.auxiliary for state in self.timed.values())
        self.forget()

    def forget(self) -> None:
        """Forget the epoch."""
        self._agendas: dict[str, tuple[Layout, Agenda]] = {}
        self._started: list[tuple[Arrangement, Layout, tuple[Run, ...]]] = []
        self._taken: dict[str, tuple[Layout, Candidates]] = {}
        self._histories.forget()
        self.reached = -1

    def build(self) -> None:
        """Build the orders in which groups of histories are read."""
        self._histories.build()

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

    @property
    def deepest(self) -> int:
        """The last iteration of any row, among the relations that close a cycle."""
        return rest_of(self.homes[name] for name in self.step.closing)

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

    def first(self) -> Turn | None:
        """The first round for which anything waits."""
        waiting = [(time, name) for name, (_, agenda) in self._agendas.items() if (time := agenda.first()) is not None]
        return min((Turn(time, self.step.level_of[name]) for time, name in waiting), default=None)

    @property
    def waiting(self) -> int:
        """How many rows wait, each as often as it is derived from another part of a batch."""
        return sum(agenda.waiting for _, agenda in self._agendas.values())

    def take(self, turn: Turn) -> None:
        """Take up what waits for a round: all earlier ones are final."""
        self.environment.check()
        for name in self.step.levels[turn.level]:
            if name in self._agendas and (taken := self._agenda(name).take(turn.iteration)) is not None:
                self._taken[name] = self.homes[name].layout, taken

    def settle(self, turn: Turn) -> None:
        """Let rows of this shard come and go in the round; what that leads to waits once all of it is done.

        Raises DomainOverflow where a value of a group has no place: once there is room, and all is as it was before,
        it may be done again.
        """
        now, found = turn.iteration, _Found()
        self._histories.keep_up()
        for name in self.step.levels[turn.level]:
            state = self.homes[name]
            candidates = _joined(self._repacked(name), found.at(name, now))
            if candidates is not None and state.kind is Kind.RECURSIVE:
                self._decide(state, candidates, now, found)
            elif candidates is not None:
                self._sum(state, candidates, now, found)
        self._taken = {}
        for name, run, time in found.changes:
            self._agenda(name).add(run, time)
        for name, words, times in found.again:
            self._agenda(name).reconsider(words, times)

    def _repacked(self, name: str) -> Candidates | None:
        """What was taken up of a relation, packed as its rows are now."""
        if name not in self._taken:
            return None
        state, (layout, (words, weights)) = self.homes[name], self._taken[name]
        if layout is state.layout:
            return words, weights
        moved = state.contents.repacked(Run(words, weights=weights), layout, state.layout)
        return moved.words, moved.all_weights()

    def _decide(self, state: State, candidates: Candidates, now: int, found: _Found) -> None:
        """Let rows of a set be asserted and retracted at an iteration."""
        assert state.counts is not None
        words, _ = candidates
        past, counts = descriptors(state.contents.runs), descriptors(state.counts.runs)
        settled = settle_all(candidates, now, past, counts, descriptors(()), True, self.environment.thresholds.large)
        again, times = select(words, settled.later, settled.later - NEVER)
        if len(times):
            found.again.append((state.relation.name, again, times))
        counted, weights = select(words, settled.counted, settled.counted)
        if len(weights):
            state.count(Run(counted, time_array(len(weights), now), plain(weights)))
        self._settled(state, *select(words, settled.actions, settled.actions), now)

    def _sum(self, state: State, candidates: Candidates, now: int, found: _Found) -> None:
        """Let weights of a bag or a history change at an iteration, and look at the groups of a history."""
        words, weights = candidates
        self._settled(state, *select(words, weights, weights), now)
        for target, run, again, times in self._histories.examine(state, words, now):
            found.changes.append((target, run, now + self.delays[target]))
            found.again.append((state.relation.name, again, times))

    def _settled(self, state: State, words: Words, weights: Weights, now: int) -> None:
        """Let a relation have a change at home."""
        if len(weights):
            run = Run(words, time_array(len(weights), now), plain(weights))
            name = state.relation.name
            self.change(name, run, kept=True)
            self._histories.enter(state, run, now)
            self.reached = max(self.reached, now if self.delays[name] else -1)

    def settle_again(self) -> None:
        """The round is to be settled again, by rows that may be packed in another way."""
        self._histories.forget()

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


class _Found:
    """What settling a round leads to: changes of relations at an iteration, and rows to be looked at again."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, Run, int]] = []
        self.again: list[tuple[str, Words, Times]] = []

    def at(self, name: str, now: int) -> Candidates | None:
        """The change of a relation at the present iteration, which is settled in the same round."""
        for number, (target, run, time) in enumerate(self.changes):
            if (target, time) == (name, now):
                del self.changes[number]
                return run.words, run.all_weights()
        return None


def _joined(one: Candidates | None, other: Candidates | None) -> Candidates | None:
    """The candidates of both."""
    if one is None or other is None:
        return other if one is None else one
    words, weights = (np.concatenate(parts, axis=-1) for parts in zip(one, other, strict=True))
    return consolidate(words, weights, keep_zeros=True)


def kept_as(step: Iterate) -> str:
    """What rounds keep of a recursion, for a report."""
    return "signed" if step.stratum.signed else Strategy.NESTED.value


def in_rounds(rounds: int, shards: int) -> str:
    """How a recursion was brought up to date, for a report."""
    return f"in {rounds:,} round{'s' * (rounds != 1)} over {shards} shards"
