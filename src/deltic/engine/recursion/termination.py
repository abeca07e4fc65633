"""Whether a recursion comes to an end: asked in each round, of one store or of all shards together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltic.circuit.iterations import Deadline, circle_error, limit_error
from deltic.engine.recursion.signed.oscillation import ClosingRelations, CycleWatch
from deltic.engine.recursion.signed.priority import Depth
from deltic.engine.storage.arrangement import present
from deltic.program.histories import BY_ITERATION


@dataclass(frozen=True)
class Bounds:
    """What is known of a recursion before it runs: its relations, those that close its cycles, and what it may take.

    `computing` are the rules that make new values from recursive rows; without one, every recursion of sets has an end.
    In a `signed` one rows come and go; where rows are admitted by their values, iterations `jump`.
    """

    relations: Sequence[str]
    closing: Sequence[str]
    computing: Sequence[str]
    signed: bool
    jumps: bool
    has_bags: bool
    limit: int
    timeout: float | None

    @property
    def shown(self) -> list[str]:
        """What the relations are called."""
        return sorted(map(shown, self.closing))


def shown(name: str) -> str:
    """What a recursive relation is called, of which this is the history."""
    return name.removesuffix(BY_ITERATION)


class Termination:
    """The depth that an epoch of a recursion reaches; before it, its rows were of iterations up to `deepest`."""

    def __init__(self, bounds: Bounds, deepest: int) -> None:
        self.bounds, self.depth = bounds, Depth(bounds.jumps)
        self._deadline, self._watch = Deadline(bounds.timeout), CycleWatch(deepest)
        self._iteration = 0

    def check(self, iteration: int) -> None:
        """Before a round: raise IterationLimitError past the limit of iterations, for sets or bags, or of time.

        At the iteration after it, known rows may be derived again.
        """
        bounds, self._iteration = self.bounds, iteration
        if not bounds.signed and iteration > bounds.limit + 1 and bounds.computing:
            raise limit_error(bounds.shown, bounds.computing, bounds.limit)
        if self._deadline.is_past(iteration) and bounds.computing:
            raise limit_error(bounds.shown, bounds.computing, iteration, self._deadline.timeout)

    def is_due(self, iteration: int) -> bool:
        """Whether to `look` after a round at this iteration that changed a relation which closes a cycle."""
        if self.bounds.signed:
            return self.depth.reach(iteration) > self.watched
        return self.bounds.has_bags and iteration >= self._watch.horizon

    @property
    def watched(self) -> int:
        """The depth from which on to look for an end; values that improve do not go round."""
        return self.bounds.limit if self.depth.jumps else min(self.bounds.limit, self._watch.horizon)

    def look(self, iteration: int, closing: Sequence[ClosingRelations]) -> None:
        """Raise IterationLimitError where histories change past the limit, or go round, or rows derive themselves.

        `closing` are the relations that close the cycles, in each store.
        """
        if not self.bounds.signed:
            self._watch.horizon = 2 * iteration
            self.refuse_circle(iteration, closing)
            return
        if not self.depth.jumps:
            self._watch.look(iteration, closing)
        if self.depth.depth > self.bounds.limit:
            raise limit_error(self.bounds.shown, self.bounds.computing, self.bounds.limit)

    def refuse_circle(self, iteration: int, closing: Sequence[ClosingRelations]) -> None:
        """Raise IterationLimitError where rows of bags derive themselves.

        That is so when a derivation is longer than there are rows: one comes twice in it.
        """
        if self.bounds.has_bags and iteration > sum(map(_rows, closing)):
            raise circle_error(self.bounds.shown)

    def explain_overflow(self, closing: Sequence[ClosingRelations]) -> None:
        """Raise IterationLimitError where a count overflows because rows of bags derive themselves.

        The row that overflows is one of the round that was checked last, and not among the rows yet.
        """
        self.refuse_circle(self._iteration - 1, closing)


def _rows(closing: ClosingRelations) -> int:
    """How many different rows the relations have in one store."""
    runs = [state.contents.runs for state in closing.relations.values() if state.contents.runs]
    return sum(len(present(of_one)[1]) for of_one in runs)
