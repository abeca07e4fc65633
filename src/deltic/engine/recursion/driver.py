"""The driver of every recursion: rounds, the least first, until nothing waits [DBSP §7.2].

What must hold, whoever takes the rounds, one store, shards of one process or jobs:

* A round settles the changes of its relations at its iteration, adds them to their rows, and follows each through the
  rules. Rules are multilinear: each change meets the other relations once, as they are in that round.
* What is derived waits for a later round: for the next iteration, for an iteration of rows that it meets, or for a
  later level of the present one. So a round that was taken is final.
* Changes that add up to nothing are not followed. The state after an epoch is that of a computation from nothing,
  histories and counts included [ELA Thm 3.5].
* An epoch that raises leaves the relations to its caller, who restores them.

An executor says how a round is taken: where its changes go between settling and following is its exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from deltic.engine.recursion.pending import Candidates, RoundId
from deltic.engine.recursion.settle import Effects, Settler
from deltic.engine.recursion.signed.oscillation import ClosingRelations
from deltic.engine.recursion.termination import Termination
from deltic.engine.storage.run import Run, consolidate
from deltic.errors import CountOverflowError


class RoundExecutor(Protocol):
    """What takes the rounds of a recursion."""

    def first(self) -> RoundId | None:
        """The least round for which anything waits."""

    def take(self, now: RoundId) -> int:
        """Take this round, and as many after it as suit.

        The iteration of the last one if a relation that closes a cycle has changed in it; −1 if none has, or if
        the executor has looked for the end itself.
        """

    def closing(self) -> Sequence[ClosingRelations]:
        """The relations that close the cycles, in each store."""


def run_rounds(executor: RoundExecutor, termination: Termination, may_go_on: Callable[[], bool] = lambda: True) -> int:
    """Take rounds until nothing waits, as long as the recursion `may_go_on`: how many were asked for.

    Raises IterationLimitError where the recursion has no end, and CountOverflowError.
    """
    rounds = 0
    while (now := executor.first()) is not None and may_go_on():
        termination.check(now.iteration)
        try:
            reached = executor.take(now)
        except CountOverflowError as error:
            termination.explain_overflow(executor.closing())
            raise error.of(termination.bounds.relations) from None
        if reached >= 0 and termination.is_due(reached):
            termination.look(reached, executor.closing())
        rounds += 1
    return rounds


def settle_round(
    names: Sequence[str],
    taken: Callable[[str], Candidates | None],
    settlers: Mapping[str, Settler],
    now: int,
    enter: Callable[[str, Run], None],
) -> Effects:
    """Settle the relations of a round, given what was `taken` of each: what that leads to in the queue.

    `enter` adds a change to the rows of a relation. What examinations change of a later relation of the round is
    settled with it.
    """
    effects = Effects()
    for name in names:
        candidates = _joined(taken(name), effects.at(name, now))
        if candidates is not None:
            change = settlers[name].settle(candidates, now, effects)
            if change is not None:
                enter(name, change)
            settlers[name].entered(candidates, change, now, effects)
    return effects


def _joined(one: Candidates | None, other: Candidates | None) -> Candidates | None:
    """The candidates of both."""
    if one is None or other is None:
        return other if one is None else one
    words, weights = (np.concatenate(parts, axis=-1) for parts in zip(one, other, strict=True))
    return consolidate(words, weights, keep_zeros=True)
