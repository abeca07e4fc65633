"""One shard: the local engine's store and kernels over its part of the rows, taking the steps of a plan.

A stage is a function of the state before the epoch and of what was sent to the shard in this stage and those before it.
Where a value that was sent has no place, all that there is, changes included, is repacked; where a computed one has
none, the shard makes room and takes the steps of the stage again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.shards.exchange import Inbox
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.options import Options
from deltic.engine.executors.shards.plan import Iterate, Present, ShardPlan, Step
from deltic.engine.executors.shards.round_steps import Renumbered, RoundSteps
from deltic.engine.executors.shards.steps import Moment
from deltic.engine.growth import Growth
from deltic.engine.recursion.pending import RoundId
from deltic.engine.storage.layout import DomainOverflow
from deltic.engine.storage.store import Store
from deltic.errors import CountOverflowError


class Shard(RoundSteps):
    """A shard, and the epoch that it is in."""

    def __init__(
        self, number: int, plan: ShardPlan, options: Options, store: Store, steps: Collection[Step] | None = None
    ) -> None:
        """Of a shard that is to take these steps alone, no others are made ready."""
        super().__init__(number, plan, options, store, steps)
        self._before = Moment.of(self)

    def begin(self, conflicts: Conflicts, empty: Collection[str] = ()) -> None:
        """Begin an epoch whose changes of tables are under this policy; in `empty` are no rows on any shard.

        If the state is between two rounds, continue with the next.
        """
        self._conflicts, self._empty = conflicts, empty
        self._forget()
        self.environment.visits.rows = 0
        self.fit()
        self._before = Moment.of(self)

    def run(self, stage: int, inbox: Inbox) -> list[Message]:
        """Take the steps of a stage with what was sent; stages are run in their order, each once.

        Raises ChangeError for a change of a table that does not fit, and what a recursion raises; `roll_back` is to
        follow.
        """
        self._sent.append(self._encoded(inbox))
        return self._checked(stage, self._settled(stage, [s for steps in self.plan.stages[:stage] for s in steps]))

    def run_alone(self, stage: int, inboxes: Sequence[Inbox], earlier: Sequence[Step]) -> list[Message]:
        """Take the steps of a stage, and before them those `earlier` ones that it needs, in a shard that took no more.

        `inboxes` are those of all stages up to it. What the earlier steps find to be amiss was told by their stages.
        """
        self._sent = [self._encoded(inbox) for inbox in inboxes]
        return self._checked(stage, self._settled(stage, earlier, is_behind=True))

    def _checked(self, stage: int, messages: list[Message]) -> list[Message]:
        """What a stage has sent, where the tables, which are taken in the first one, are as they may be."""
        if not stage:
            self._check_keys()
        return messages

    def _settled(self, stage: int, earlier: Sequence[Step], is_behind: bool = False) -> list[Message]:
        """Take the steps of a stage; `earlier` ones before where the shard `is_behind`.

        Where a value has no place, the state is repacked, and the stage restarts; where that gives texts
        other labels, which those of before the epoch could not follow, the epoch does.
        """
        growth, is_alone = Growth(), is_behind
        moment = Moment.of(self)
        while True:
            try:
                self._make_room(self._sent)
                if not is_alone and self.plan.iterated and self.store.is_renumbered():
                    raise Renumbered
                is_behind = is_behind or self.store.is_renumbered()
                if is_behind:
                    self._go_back()
                    self._retake(earlier)
                    if is_alone:
                        self.environment.faults.clear()
                self.fit()
                moment, is_behind = Moment.of(self), False
                return [message for step in self.plan.stages[stage] for message in self._counted(step)]
            except DomainOverflow as error:
                growth.make_room(error)
                moment.restore(self)

    def _counted(self, step: Step) -> list[Message]:
        """Take a step: what it sends. Raises CountOverflowError, of its relations."""
        try:
            return list(self.take(step))
        except CountOverflowError as error:
            raise error.of(self.plan.makes(step)) from None

    def _go_back(self) -> None:
        """Be at the start of the epoch, with layouts that fit, and with what was sent since."""
        sent = self._sent
        self._start_again()
        self._sent = sent

    def _start_again(self) -> None:
        """Be as when the epoch began, or went on, with layouts that fit."""
        self.roll_back()
        self.fit()
        self._before = Moment.of(self)

    def _retake(self, steps: Sequence[Step]) -> None:
        for step in steps:
            for _ in self.take(step):
                pass

    def round_alone(self, step: Iterate, now: RoundId, inboxes: Sequence[Inbox]) -> list[Message]:
        """Take the last stage of those of a round to which so much was sent, in a shard that holds what waits for it.

        Of the stages before, what changes the shard is done again; what it finds to be amiss was told by them.
        """
        last = len(inboxes) - 1
        while True:
            try:
                self.load(step, {})
                sent: list[Message] = []
                for stage, inbox in enumerate(inboxes):
                    self.environment.faults.clear()
                    sent = self.run_round(step, stage, now, inbox, sends=stage == last)
                return sent
            except Renumbered:
                self._start_again()

    def end(self) -> None:
        """End the epoch: its changes are part of the state, what is left of them is given up."""
        for state in self.store.changed():
            state.compact()

    def end_before(self, stage: int) -> None:
        """The epoch goes on elsewhere, with this stage: end those changes that nobody follows there.

        What stands for its own change does so again there.
        """
        followed = self.plan.followed_since(stage)
        followed -= {step.name for step in self.plan.steps if isinstance(step, Present)}
        for state in [state for state in self.store.changed() if state.relation.name not in followed]:
            state.compact()
            state.delta = None

    def forget_changes(self) -> None:
        """Forget what the epoch has changed, which is part of the state."""
        self.store.end_epoch()

    def roll_back(self) -> None:
        """Be as before the epoch, or as when it went on here."""
        self._before.restore(self)
        for rounds in self._rounds.values():
            rounds.roll_back()
        self._forget()

    def _forget(self) -> None:
        self._sent, self._staying, self.reports = [], {}, []
        self.environment.faults.clear()
