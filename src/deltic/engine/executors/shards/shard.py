"""One shard: the local engine's store and kernels over its part of the rows, which takes the steps of a plan.

A stage is a function of the state before the epoch and of the messages of this stage and those before it. If a received
value has no place, all state, including changes, is repacked. If a computed value has none, the shard makes room and
repeats the steps of the stage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from deltic.engine.conflicts import Conflicts
from deltic.engine.executors.forgetting import Forget
from deltic.engine.executors.shards.exchange import Inbox, Received
from deltic.engine.executors.shards.messages import Message
from deltic.engine.executors.shards.plan import ShardPlan
from deltic.engine.executors.shards.plan_steps import Iterate, Present, Step
from deltic.engine.executors.shards.round_steps import RoundSteps
from deltic.engine.executors.shards.steps import Moment
from deltic.engine.options import Options
from deltic.engine.recursion.pending import RoundId
from deltic.engine.storage.columns import DomainOverflow
from deltic.engine.storage.domains import Growth
from deltic.engine.storage.store import Renumbered, Store
from deltic.program.definitions import FixedRows, Table


class Shard(RoundSteps):
    """A shard, and its present epoch."""

    def __init__(
        self, number: int, plan: ShardPlan, options: Options, store: Store, steps: Collection[Step] | None = None
    ) -> None:
        """Prepare only these steps, if given."""
        super().__init__(number, plan, options, store, steps)
        self._before = Moment.of(self)
        self._stages: Sequence[Sequence[Step]] = plan.stages

    def begin(self, conflicts: Conflicts, stages: Sequence[Sequence[Step]] | None = None) -> None:
        """Start an epoch with this conflict policy, of the plan's stages or of those that it needs.

        If the state is between two rounds, continue with the next.
        """
        self._conflicts, self._stages = conflicts, stages or self.plan.stages
        self._forget()
        self.environment.visits.rows = 0
        self.store.fit()
        self._before = Moment.of(self)

    def run(self, stage: int, inbox: Inbox) -> list[Message]:
        """Take the steps of a stage with its messages. Stages run in order, each once.

        Raises ChangeError for a conflicting change of a table, and the errors of recursions. Call `roll_back` then.
        """
        self._sent.append(self._encoded(inbox))
        earlier = [step for steps in self._stages[:stage] for step in steps]
        return self._settled(stage, earlier, self._sent[-1:])

    def run_alone(self, stage: int, inboxes: Sequence[Inbox], earlier: Sequence[Step]) -> list[Message]:
        """Take the steps of a stage, after the `earlier` steps that it needs, in a shard that took no others.

        `inboxes` are those of all stages up to it. Faults of the earlier steps were reported by their stages.
        """
        self._sent = [self._encoded(inbox) for inbox in inboxes]
        return self._settled(stage, earlier, self._sent, is_behind=True)

    def _settled(
        self, stage: int, earlier: Sequence[Step], new: Sequence[Mapping[str, list[Received]]], is_behind: bool = False
    ) -> list[Message]:
        """Take the steps of a stage, with `new` messages; if the shard `is_behind`, take the `earlier` ones first.

        After the first stage the keys of tables are checked.
        If a value has no place, the state is repacked, and the stage restarts. If that reassigns labels, which rows
        from before the epoch cannot follow, the epoch restarts.
        """
        growth, is_alone = Growth(), is_behind
        moment: Moment | None = None
        while True:
            try:
                self._make_room(new)
                if not is_alone and self.plan.iterated and self.store.is_renumbered():
                    raise Renumbered
                is_behind = is_behind or self.store.is_renumbered()
                if is_behind:
                    sent = self._sent
                    self._start_again()
                    self._sent = sent
                    for step in filter(self.has_work, earlier):
                        list(self.take(step))
                    if is_alone:
                        self.environment.faults.clear()
                self.store.fit()
                moment, is_behind = Moment.of(self), False
                messages = [message for step in self._stages[stage] for message in self._counted(step)]
                if not stage:
                    self._check_keys()
                return messages
            except DomainOverflow as error:
                growth.make_room(error)
                if moment is not None:
                    moment.restore(self)

    def _counted(self, step: Step) -> list[Message]:
        """Take a step, and return its messages. Its cost counts for the home of what it makes; tables cost nothing."""
        if not self.has_work(step):
            return []
        made = self.plan.makes(step)[0]
        if isinstance(self.program.relations[made].definition, Table | FixedRows):
            return list(self.take(step))
        return self.work.of((self.plan.placed[made].home,), lambda: list(self.take(step)), made)

    def _start_again(self) -> None:
        """Return to where the epoch started or resumed, with fitting layouts."""
        self.roll_back()
        self.store.fit()
        self._before = Moment.of(self)

    def round_alone(self, step: Iterate, now: RoundId, inboxes: Sequence[Inbox]) -> list[Message]:
        """Take the last stage of a round with these inboxes, in a shard that has the pending rows of the round.

        Changes of the shard itself in the earlier stages are repeated; their faults were reported before.
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

    def end(self, forget: Forget | None) -> None:
        """End the epoch: its changes become part of the state, without rows to forget."""
        for state in self.store.changed():
            state.compact()
        if forget is not None:
            self.forgetting.run(forget)

    def end_before(self, stage: int) -> None:
        """End the changes that later stages do not read, because the epoch continues elsewhere with this stage.

        Relations that act as their own change do so again there.
        """
        followed = self.plan.followed_since(stage)
        followed -= {step.name for step in self.plan.steps if isinstance(step, Present)}
        for state in [state for state in self.store.changed() if state.relation.name not in followed]:
            state.compact()
            state.delta = None

    def roll_back(self) -> None:
        """Return to the state before the epoch, or to where it resumed here."""
        self._before.restore(self)
        for rounds in self.rounds.values():
            rounds.roll_back()
        self._forget()

    def _forget(self) -> None:
        self._sent, self._staying, self._alike = [], {}, {}
        self.work.forget()
        self.environment.faults.clear()
