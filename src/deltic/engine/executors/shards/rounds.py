"""The part of one shard in a recursion that takes rounds of exchanges: a round for each iteration, least first.

What must hold, beside the rules of the driver, its queue and its settlers:

* A row is settled at its home alone, which keeps its derivations at every iteration.
* All changes of a round reach every place of their relation before any is followed through the rules, and stay apart
  from the older rows until all are: by multilinearity each is followed once.
* Derivations come home before the next round is chosen, and wait there for a later one.
* A round that lacked room is settled again from the same candidates, repacked; nothing of it has entered the queue.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from deltic.engine.executors.shards.histories import Drifts
from deltic.engine.executors.shards.plan import Iterate
from deltic.engine.executors.shards.times import by_time, of_times
from deltic.engine.operators.query import Environment
from deltic.engine.recursion.driver import settle_round
from deltic.engine.recursion.pending import Candidates, PendingQueue, RoundId
from deltic.engine.recursion.settle import HistorySettler, SetSettler, Settler
from deltic.engine.recursion.signed.choosing import examinations_of
from deltic.engine.recursion.signed.oscillation import rest_of
from deltic.engine.recursion.strategy import Strategy
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import NO_WEIGHTS, Run, plain
from deltic.engine.storage.state import Role, State

# What a relation keeps of what waits: derivations, and rows to be looked at again.
_HELD: tuple[Role, Role] = ("waiting", "again")
# What it keeps of the epoch's changes so far.
_CHANGED: Role = "changed"


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
        self._examined = examinations_of(self.homes, environment)
        self._settlers = {name: self._settler(state) for name, state in self.homes.items()}
        self._drifts = Drifts(self._examined, lambda state: self._kept(state, _CHANGED))
        self._was_held = any((_CHANGED, state.canonical) in state.auxiliary for state in self.timed.values())
        self.forget()

    def _settler(self, state: State) -> Settler:
        if state.kind is RelationKind.RECURSIVE:
            return SetSettler(state, self.environment)
        return HistorySettler(state, self.environment, *self._examined.of(state.relation.name))

    def forget(self) -> None:
        """Forget the epoch."""
        self._queue = PendingQueue(self.step.levels, self.environment.thresholds.large)
        self._packed = {name: state.layout for name, state in self.homes.items()}
        self._started: list[tuple[Arrangement, Layout, tuple[Run, ...]]] = []
        self._taken: dict[str, tuple[Layout, Candidates]] = {}
        self._drifts.forget()
        self.reached = -1

    def build(self) -> None:
        """Build the orders in which groups of histories are read."""
        self._examined.build()

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
        self._keep_up()
        for time, words, weights in by_time(run):
            self._queue.of(name).add(Run(words, weights=plain(weights)), time)

    def _keep_up(self) -> None:
        """Pack what waits as rows are packed now."""
        for name, state in self.homes.items():
            if (packed := self._packed[name]) is not state.layout:
                contents, now = state.contents, state.layout
                self._queue.repack(name, partial(contents.repacked, old=packed, new=now))
                self._packed[name] = now

    def first(self) -> RoundId | None:
        """The first round for which anything waits."""
        return self._queue.first()

    @property
    def waiting(self) -> int:
        """How many rows wait, each as often as it is derived from another part of a batch."""
        return self._queue.waiting

    def take(self, now: RoundId) -> None:
        """Take up what waits for a round: all earlier ones are final."""
        self.environment.check()
        self._keep_up()
        taken = self._queue.take(now)
        self._taken = {name: (self.homes[name].layout, candidates) for name, candidates in taken.items()}

    def settle(self, now: RoundId) -> None:
        """Settle the rows of this shard in a round; what that leads to waits once all of it is done.

        Raises DomainOverflow where a value of a group has no place: once there is room, and all is as it was before,
        it may be done again.
        """
        self._drifts.keep_up()

        def enter(name: str, change: Run) -> None:
            self.change(name, change, kept=True)
            self.reached = max(self.reached, now.iteration if self._settlers[name].delay else -1)

        names = self.step.levels[now.level]
        effects = settle_round(names, self._repacked, self._settlers, now.iteration, enter)
        self._taken = {}
        self._keep_up()
        effects.wait_in(self._queue)

    def _repacked(self, name: str) -> Candidates | None:
        """What was taken up of a relation, packed as its rows are now."""
        if name not in self._taken:
            return None
        state, (layout, (words, weights)) = self.homes[name], self._taken[name]
        if layout is state.layout:
            return words, weights
        moved = state.contents.repacked(Run(words, weights=weights), layout, state.layout)
        return moved.words, moved.all_weights()

    def settle_again(self) -> None:
        """The round is to be settled again, by rows that may be packed in another way."""
        self._drifts.forget()

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
        self._keep_up()
        for name, state in self.homes.items():
            entries = list(self._queue.of(name).drain())
            again = [(time, words, NO_WEIGHTS) for time, words, weights in entries if not weights.any()]
            waiting = [entry for entry in entries if entry[2].any()]
            for role, result in zip(_HELD, (waiting, again), strict=True):
                held, run = self._kept(state, role), of_times(result)
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
                        self._keep_up()
                        self._queue.of(name).reconsider(there.words, there.times)

    def _kept(self, state: State, role: Role) -> Arrangement:
        """Where a relation keeps what waits, or has changed."""
        return state.keep(role, state.canonical, state.domains)


def kept_as(step: Iterate) -> str:
    """What rounds keep of a recursion, for a report."""
    return "signed" if step.stratum.signed else Strategy.NESTED.value


def in_rounds(rounds: int, shards: int) -> str:
    """How a recursion was brought up to date, for a report."""
    return f"in {rounds:,} round{'s' * (rounds != 1)} over {shards} shards"
