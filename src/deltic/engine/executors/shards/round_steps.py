"""The steps of a plan whose rows have iterations: those before the rounds of a recursion, of a round, and after.

A round has its own steps, in stages like those of an epoch. If values are renumbered between rounds, the epoch
restarts, because pending rows have the old numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from deltic.engine.executors.shards.exchange import Inbox, Received
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.plan_steps import Iterate, Search, Step, Take
from deltic.engine.executors.shards.rounds import Rounds, by_time, derived_by_time, of_times
from deltic.engine.executors.shards.steps import Moment, Steps
from deltic.engine.operators.search import Derivations
from deltic.engine.options import Options
from deltic.engine.recursion.pending import RoundId
from deltic.engine.recursion.signed.priority import admission_of, admitted
from deltic.engine.storage.arrangement import time_array
from deltic.engine.storage.arrow import packed
from deltic.engine.storage.columns import DomainOverflow
from deltic.engine.storage.domains import Growth
from deltic.engine.storage.run import Run, Weights, Words
from deltic.engine.storage.state import State
from deltic.engine.storage.store import Store
from deltic.program.histories import PriorityOrder, delay_of

Done = TypeVar("Done")


class RoundSteps(Steps):
    """Steps that include those of rounds."""

    def __init__(
        self, number: int, plan: ShardPlan, options: Options, store: Store, steps: Collection[Step] | None = None
    ) -> None:
        super().__init__(number, plan, options, store, steps)
        taken = plan.steps if steps is None else steps
        homes = {name: self.states[placed.home] for name, placed in plan.placed.items() if name in plan.timed}
        inside = {name for name, home in homes.items() if not delay_of(home.relation.definition)}
        self.rounds = {
            step.stratum: Rounds(step, self.states, self.environment, inside & step.timed)
            for step in taken
            if isinstance(step, Iterate)
        }
        """The rounds of each recursion."""

    def load(self, step: Iterate, inbox: Inbox) -> None:
        """Load the pending rows that `hold` stored, and messages that were sent since. Raises Renumbered."""
        rounds, received = self.rounds[step.stratum], self._encoded(inbox)
        self._admit(received)
        self._build(step)
        rounds.load()
        self._come_home(rounds, received)

    def run_round(self, step: Iterate, stage: int, now: RoundId, inbox: Inbox, sends: bool = True) -> list[Message]:
        """Take the steps of a stage of a round, with its messages.

        If the stage was taken before and its messages sent (not `sends`), only changes of the shard itself are
        repeated. Raises Renumbered, and the errors of `run`.
        """
        rounds, received = self.rounds[step.stratum], self._encoded(inbox)
        self._admit(received)
        self._come_home(rounds, received)
        if not stage:
            rounds.take(now)
            self._repeated(lambda: rounds.settle(now), rounds.drifts.clear)
        if not received and not rounds.is_active:
            return []
        return self._repeated(lambda: self._steps_taken(rounds, stage, now.iteration, received, sends))

    def _repeated(self, take: Callable[[], Done], again: Callable[[], None] = lambda: None) -> Done:
        """Run a part of a round, and repeat it, after `again`, as long as a value has no place."""
        moment, growth = Moment.of(self), Growth()
        while True:
            try:
                return take()
            except DomainOverflow as error:
                growth.make_room(error)
                moment.restore(self)
                again()
                self._admit({})
                moment = Moment.of(self)

    def _steps_taken(
        self, rounds: Rounds, stage: int, now: int, received: Mapping[str, list[Received]], sends: bool
    ) -> list[Message]:
        """Take the steps of a stage of a round. Return the messages to send."""
        steps = [each for each in rounds.step.stages[stage] if sends or not self.plan.sends(each)]
        sent = [message for each in steps for message in self._taken_in_round(rounds, each, now, received)]
        self._come_home(rounds, {})
        return sent

    def end_round(self, step: Iterate, inbox: Inbox) -> None:
        """End a round, with the messages of its last stage."""
        received = self._encoded(inbox)
        rounds = self.rounds[step.stratum]
        rounds.end_round()
        self._admit(received)
        self._come_home(rounds, received)

    def hold(self, step: Iterate) -> None:
        """End the present round, if there is one, and store the pending rows, so that they are written."""
        self.rounds[step.stratum].end_round()
        self.rounds[step.stratum].hold()

    def _admit(self, received: Mapping[str, list[Received]]) -> None:
        """Make room for all values of a round's messages."""
        self._make_room([received])
        self.store.fit_within_epoch()

    # Steps

    def take(self, step: Step) -> Iterator[Message]:
        self.environment.check()
        match step:
            case Take(name=name) if name in self.plan.timed:
                self.states[name].delta = self._gathered(name, self._sent_to(name))
            case Search() if step.query.head in self.plan.timed:
                yield from self._search_timed(step, 0)
            case Iterate():
                self._begin_rounds(step)
            case _:
                yield from super().take(step)

    def _begin_rounds(self, step: Iterate) -> None:
        """Start with the derivations from the relations below."""
        rounds = self.rounds[step.stratum]
        self._build(step)
        rounds.begin()
        for sent in self._sent:
            self._come_home(rounds, sent)
        self._come_home(rounds, {})

    def _build(self, step: Iterate) -> None:
        """Build the arrangements that rounds probe, with the version before the epoch."""
        for each in step.steps:
            if isinstance(each, Search):
                self._searches[each.query.rule].build(step.timed)
        self.rounds[step.stratum].build()

    def _come_home(self, rounds: Rounds, received: Mapping[str, list[Received]]) -> None:
        """Queue derivations that were sent, or stay on the shard, for their iterations."""
        for name in rounds.homes:
            if (run := self._gathered(name, received.get(name, ()))) is not None:
                rounds.receive(name, run)

    def _taken_in_round(
        self, rounds: Rounds, step: Step, now: int, received: Mapping[str, list[Received]]
    ) -> Iterator[Message]:
        """Take a step of a round, and yield the messages to send."""
        self.environment.check()
        match step:
            case Take(name=name):
                run = self._gathered(name, received.get(name, ()))
                if run is not None and name in rounds.step.places:
                    at = Run(run.words, time_array(len(run), now), run.weights)
                    rounds.change(name, at, self.plan.placed[name].kept)
                elif run is not None:
                    self.states[name].delta = run
            case Search():
                yield from self._search_timed(step, now)
            case _ if self.has_work(step):
                yield from self.take(step)

    def _gathered(self, name: str, received: Iterable[Received]) -> Run | None:
        """Return the sum, as a run, of rows with iterations that stay for a relation and of those sent to it."""
        state = self.states[name]

        def parts() -> Iterator[tuple[int, Words, Weights]]:
            for layout, run in self._staying.pop(name, ()):
                yield from by_time(state.contents.adapted(run, layout))
            for columns, weights, times in received:
                for time in np.unique(times).tolist() if times.size else (0,):
                    chosen = times == time if times.size else slice(None)
                    some = [(v[chosen], None if n is None else n[chosen]) for v, n in columns]
                    yield time, *packed(state, some, weights[chosen])

        return of_times(parts())

    def _search_timed(self, step: Search, now: int) -> Iterator[Message]:
        """Search in a recursion in rounds. Results have iterations of at least `now`.

        Derivations of a delayed head are for the iteration after the greatest of their rows'. Other derivations, and
        rows in transit, are for that iteration itself.
        """
        query, timed = step.query, self.plan.timed[step.query.head]
        delta = self.states[query.delta.relation].delta
        if delta is None:
            return
        total = derived_by_time(self._searches[query.rule].run(delta, timed, now), now + 1)
        if total is None:
            return
        state = self.states[query.head]
        if not self.plan.is_home(query.head) or not delay_of(state.relation.definition):
            total = Run(total.words, total.times - np.int8(1), total.weights)
        if (admission := admission_of(state)) is not None:
            total = _admitted(state, admission, total)
        yield from self._found(step, total)


def _admitted(state: State, admission: PriorityOrder, total: Run) -> Run:
    """Return derivations of a history, none before the iteration that admits their rows."""
    result = admitted(state, admission, Derivations(total.words, total.times, total.all_weights()), 0)
    admitted_then = derived_by_time([result], 0)
    assert admitted_then is not None
    return admitted_then
