"""The rounds of a recursion in an epoch that is a job: each is one of its own, or, where few rows wait, taken here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deltic.engine.files.files import Files
from deltic.engine.protocol import Conflicts
from deltic.engine.shards.exchange import Mail, Parcel, mail_of
from deltic.engine.shards.group import check_end, first_of, take_round
from deltic.engine.shards.letters import Letter, Mailbox, sent
from deltic.engine.shards.options import Options
from deltic.engine.shards.plan import Iterate, ShardPlan
from deltic.engine.shards.round_steps import Renumbered
from deltic.engine.shards.round_tasks import Begin, Round, RoundsTaken, adopting, beginning, hold
from deltic.engine.shards.shard import Shard
from deltic.engine.shards.tasks import Outcome, Task, opened, wake
from deltic.engine.spark.described import some_of


@dataclass(frozen=True)
class RoundJobs:
    """Takes all shards through the rounds of recursions of one epoch of a plan, from `states` in `files`.

    Where another plan has written the states, those placed relations are `taken` over that have these names there. Rows
    of more than `direct` bytes travel in files; rounds for which no more than `few` rows wait are taken in this
    process. `run` runs a job, whose name begins as `told` says.
    """

    plan: ShardPlan
    options: Options
    files: Files
    conflicts: Conflicts
    states: Mapping[int, str]
    taken: Mapping[str, str] | None
    direct: int
    few: int
    run: Callable[[Sequence[Letter], Sequence[Task], str], Outcome]
    told: str

    def iterate(self, step: Iterate, letters: Sequence[Letter]) -> RoundsTaken:
        """Take all shards through the rounds of a recursion, with the letters of the epoch so far."""
        names, place, stages = some_of(step.stratum.relations), self.files.place, len(step.stages)
        first, rounds = beginning(self.plan, step), adopting(self.plan, (), later=(step,))
        begin = [
            Begin(first, self.options, place, self.states, stage, self.conflicts, self.direct, self.taken)
            for stage in range(step.stage + 1)
        ]
        outcome = self.run(letters, begin, f"{self.told}: {names}: begin")
        done = RoundsTaken(step, outcome, self.options.shards)
        while (now := outcome.first) is not None:
            if outcome.waiting <= self.few:
                outcome = self._iterate_here(rounds, done, outcome)
                continue
            check_end(step, now, self.options.iteration_limit)
            tasks = [
                Round(rounds, self.options, place, outcome.states, stage, self.conflicts, self.direct, now=now)
                for stage in range(stages)
            ]
            waking = wake(self.options.shards)
            outcome = self.run([*waking, *outcome.following], tasks, f"{self.told}: {names}: iteration {now}")
            done.add(outcome)
        return done

    def _iterate_here(self, plan: ShardPlan, taken: RoundsTaken, begun: Outcome) -> Outcome:
        """Take rounds in this process, as long as few rows wait."""
        step, outcome, told = taken.step, Outcome(), list[Parcel]()
        shards = [
            opened(number, plan, self.options, self.files, state, [step]) for number, state in begun.states.items()
        ]
        for shard in shards:
            shard.begin("trust")
        mailbox, derived = Mailbox(self.files), list[Parcel]()
        derived += [Parcel(letter.target, letter.shard, mailbox.rows(letter)) for letter in begun.following]
        while not self._iterated_here(shards, taken, mail_of(derived), told):
            for shard in shards:
                shard.roll_back()
            told.clear()
        for shard in shards:
            taken.faults += shard.environment.faults
            taken.visited += shard.environment.visits.rows
        if first_of(shards, step) is not None:
            for shard in shards:
                one = Outcome()
                hold(shard, step, self.files, begun.states[shard.number], one)
                outcome.include(one)
        taken.letters += sent(self.files, told, step.stage, self.direct)
        return outcome

    def _iterated_here(self, shards: Sequence[Shard], taken: RoundsTaken, derived: Mail, told: list[Parcel]) -> bool:
        """Take rounds while few rows wait, the first with what was derived before.

        Whether that went well, or values were numbered anew on the way.
        """
        step, rounds = taken.step, 0
        try:
            for shard in shards:
                shard.fit()
                shard.load(step, derived.get(shard.number, {}))
            while (now := first_of(shards, step)) is not None and sum(s.waiting(step) for s in shards) <= self.few:
                check_end(step, now, self.options.iteration_limit)
                take_round(shards, step, now, told)
                rounds += 1
        except Renumbered:
            return False
        taken.here += rounds
        return True
