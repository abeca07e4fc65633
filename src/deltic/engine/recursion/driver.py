"""The driver of every recursion: takes the least pending round until nothing is pending [DBSP §7.2].

What must hold, whether one store, shards of one process or jobs take the rounds:

* A round settles the changes of its relations at its iteration, adds them to their rows, and pushes each through the
  rules. Rules are multilinear: each change meets the other relations once, as they are in that round.
* Derivations wait for a later round: for the next iteration, for an iteration of rows that they join with, or for a
  later level of the present one. So a finished round is final.
* Changes that sum to zero are not pushed. The state after an epoch equals that of a computation from nothing,
  including histories and counts [ELA Thm 3.5].
* If an epoch raises, the caller restores the relations.

An executor defines how a round is run: its exchange comes between settling and pushing changes.
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
    """Runs the rounds of a recursion."""

    def first(self) -> RoundId | None:
        """Return the least round with pending entries."""

    def take(self, now: RoundId) -> int:
        """Run this round, and possibly rounds after it.

        Return the iteration of the last one if a relation that closes a cycle has changed in it; −1 if none has, or if
        the executor has checked for termination itself.
        """

    def closing(self) -> Sequence[ClosingRelations]:
        """Return the relations that close the cycles, in each store."""


def run_rounds(executor: RoundExecutor, termination: Termination, may_go_on: Callable[[], bool] = lambda: True) -> int:
    """Run rounds until nothing is pending, or until `may_go_on` returns False. Return the number of requested rounds.

    Raises IterationLimitError if the recursion does not terminate, and CountOverflowError.
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
    """Settle the relations of a round, given the candidates `taken` of each. Return the effects on the queue.

    `enter` adds a change to the rows of a relation. If an examination changes a later relation of the round, that
    change is settled with it.
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
    """Return the union of the candidates, with summed weights."""
    if one is None or other is None:
        return other if one is None else one
    words, weights = (np.concatenate(parts, axis=-1) for parts in zip(one, other, strict=True))
    return consolidate(words, weights, keep_zeros=True)
