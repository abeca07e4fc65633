"""The rounds of recursions in an epoch that is jobs: each is one of its own, or, where few rows wait, taken here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from deltic.engine.conflicts import Conflicts
from deltic.engine.files.files import Files
from deltic.engine.shards.ends import End
from deltic.engine.shards.exchange import Mail, Parcel, mail_of
from deltic.engine.shards.group import first_of, take_round
from deltic.engine.shards.letters import Letter, Mailbox
from deltic.engine.shards.options import Options
from deltic.engine.shards.plan import Iterate, ShardPlan
from deltic.engine.shards.round_steps import Renumbered
from deltic.engine.shards.round_tasks import Begin, Round, RoundsTaken, hold
from deltic.engine.shards.shard import Shard
from deltic.engine.shards.tasks import Amid, Outcome, Task, opened, wake
from deltic.engine.spark.described import some_of


@dataclass
class Reached:
    """How far an epoch has come: to stage `since`, with these states, and letters for that stage and later ones.

    Where another plan has written the states, those placed relations are `taken` over that have these names there.
    """

    states: Mapping[int, str]
    letters: Sequence[Letter]
    taken: Mapping[str, str] | None
    since: int = 0
    done: list[Outcome] = field(default_factory=list)
    """What the jobs of stages did."""
    rounds: list[RoundsTaken] = field(default_factory=list)

    def total(self, last: Outcome) -> Outcome:
        """What comes of all of it, with the outcome of the last job."""
        for one in self.done:
            last.reports = one.reports + last.reports
            last.rows_in = one.rows_in | last.rows_in
        every: list[Outcome | RoundsTaken] = [*self.done, *self.rounds]
        for each in every:
            last.visited += each.visited
            last.read += each.read
            last.written += each.written
            last.faults += each.faults
        return last


@dataclass(frozen=True)
class RoundJobs:
    """Takes all shards through the stages of an epoch of a plan up to the last one with rounds, and through these.

    Rows of more than `direct` bytes travel in files; rounds for which no more than `few` rows wait are taken in this
    process. `run` runs a job, whose name begins as `told` says.
    """

    plan: ShardPlan
    options: Options
    files: Files
    conflicts: Conflicts
    direct: int
    few: int
    run: Callable[[Sequence[Letter], Sequence[Task], str], Outcome]
    told: str

    def run_rounds(self, reached: Reached) -> Reached:
        """Take all shards on behind the last rounds of the epoch, if there are any."""
        for last in sorted({step.stage for step in self.plan.iterated}):
            begun = self._begin(reached, last)
            waking = wake(self.options.shards)
            reached.states, reached.letters = begun.states, [*waking, *begun.following]
            reached.since, reached.taken = last + 1, self._as_written(reached)
            reached.done.append(begun)
            for number, step in enumerate(self.plan.iterated):
                if step.stage == last:
                    self._iterate(reached, number, begun.amid[number])
        return reached

    def _as_written(self, reached: Reached) -> Mapping[str, str] | None:
        """Within the epoch relations have their own names, and are kept as they were taken over, if any were."""
        return None if reached.taken is None else {name: name for name in self.plan.program.relations}

    def _begin(self, reached: Reached, last: int) -> Outcome:
        """Take the stages up to that in which rounds begin."""
        place, given = self.files.place, (self.conflicts, self.direct, reached.taken, reached.since, last)
        tasks = [
            Begin(self.plan, self.options, place, reached.states, stage, *given)
            for stage in range(reached.since, last + 1)
        ]
        names = [name for step in self.plan.iterated if step.stage == last for name in step.stratum.relations]
        return self.run(reached.letters, tasks, f"{self.told}: {some_of(names)}: begin")

    def _iterate(self, reached: Reached, number: int, amid: Amid) -> None:
        """Take all shards through the rounds of a recursion."""
        step, place = self.plan.iterated[number], self.files.place
        taken, names = RoundsTaken(step, amid, self.options.shards), some_of(step.stratum.relations)
        outcome = Outcome(states=dict(reached.states), amid={number: amid})
        end = End(step, self.plan.program, self.options, amid.reached)
        while (turn := outcome.amid[number].first) is not None:
            if outcome.amid[number].waiting <= self.few:
                outcome = self._iterate_here(number, taken, outcome, reached.taken, end)
                continue
            end.check(turn)
            given = (self.conflicts, self.direct, reached.taken, 0, number, turn)
            tasks = [
                Round(self.plan, self.options, place, outcome.states, stage, *given)
                for stage in range(len(step.stages))
            ]
            letters = [*wake(self.options.shards), *outcome.following]
            outcome = self.run(letters, tasks, f"{self.told}: {names}: {step.told(turn)}")
            taken.add(outcome)
            if end.is_due(turn, outcome.amid[number].reached):
                end.look(turn, self._shards(step, outcome.states, reached.taken))
        taken.end()
        reached.states = outcome.states
        reached.rounds.append(taken)

    def _iterate_here(
        self, number: int, taken: RoundsTaken, begun: Outcome, names: Mapping[str, str] | None, end: End
    ) -> Outcome:
        """Take rounds in this process, as long as few rows wait."""
        step, outcome = taken.step, Outcome()
        shards = self._shards(step, begun.states, names)
        mailbox = Mailbox(self.files)
        derived = mail_of(Parcel(letter.target, letter.shard, mailbox.rows(letter)) for letter in begun.following)
        while not self._iterated_here(shards, taken, derived, end):
            for shard in shards:
                shard.roll_back()
        for shard in shards:
            taken.faults += shard.environment.faults
            taken.visited += shard.environment.visits.rows
            hold(shard, number, step, self.files, begun.states[shard.number], outcome)
        return outcome

    def _shards(self, step: Iterate, states: Mapping[int, str], names: Mapping[str, str] | None) -> list[Shard]:
        """All shards between the rounds of a recursion, as files have them."""
        given = self.plan, self.options, self.files
        return [opened(number, *given, state, [step], names) for number, state in states.items()]

    def _iterated_here(self, shards: Sequence[Shard], taken: RoundsTaken, derived: Mail, end: End) -> bool:
        """Take rounds while few rows wait, the first with what was derived before.

        Whether that went well, or values were renumbered on the way.
        """
        step, rounds = taken.step, 0
        try:
            for shard in shards:
                shard.begin("trust")
                shard.load(step, derived.get(shard.number, {}))
            while (turn := first_of(shards, step)) is not None and sum(s.waiting(step) for s in shards) <= self.few:
                take_round(shards, step, turn, end)
                rounds += 1
        except Renumbered:
            return False
        taken.here += rounds
        return True
