"""The termination test of a recursion, applied in each round of one store or of all shards together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deltic.circuit.iterations import Deadline, circle_error, limit_error
from deltic.engine.recursion.signed.oscillation import ClosingRelations, CycleWatch
from deltic.engine.recursion.signed.priority import Depth
from deltic.engine.storage.arrangement import present
from deltic.program.definitions import Definition
from deltic.program.histories import BY_ITERATION, Examined
from deltic.program.operators.linear import Expanded
from deltic.program.queries import Query


@dataclass(frozen=True)
class Bounds:
    """The static properties of a recursion: its relations, those that close its cycles, and its limits.

    `computing` is what computes new values from recursive rows. In a `signed` recursion rows appear and disappear. If
    rows are admitted by their values, iterations `jump`.
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
        """Return the displayed names of the closing relations."""
        return sorted(map(shown, self.closing))


def shown(name: str) -> str:
    """Return the displayed name of the recursive relation whose history this is."""
    return name.removesuffix(BY_ITERATION)


class Termination:
    """The depth that an epoch of a recursion reaches. The rows before it had iterations up to `deepest`."""

    def __init__(self, bounds: Bounds, deepest: int) -> None:
        self.bounds, self.depth = bounds, Depth(bounds.jumps)
        self._deadline, self._watch = Deadline(bounds.timeout), CycleWatch(deepest)
        self._iteration = 0

    def check(self, iteration: int) -> None:
        """Raise IterationLimitError if a round is past the limit of iterations, for sets or bags, or of time.

        At the iteration after the limit, known rows may be derived again.
        """
        bounds, self._iteration = self.bounds, iteration
        if not bounds.signed and iteration > bounds.limit + 1 and bounds.computing:
            raise limit_error(bounds.shown, bounds.computing, bounds.limit)
        if self._deadline.is_past(iteration) and bounds.computing:
            raise limit_error(bounds.shown, bounds.computing, iteration, self._deadline.timeout)

    def is_due(self, iteration: int) -> bool:
        """Return whether to `look` after a round at this iteration that changed a relation which closes a cycle."""
        if self.bounds.signed:
            return self.depth.reach(iteration) > self.watched
        return self.bounds.has_bags and iteration >= self._watch.horizon

    @property
    def watched(self) -> int:
        """The depth from which on to check for termination. Values that improve cannot cycle."""
        return self.bounds.limit if self.depth.jumps else min(self.bounds.limit, self._watch.horizon)

    def look(self, iteration: int, closing: Sequence[ClosingRelations]) -> None:
        """Raise IterationLimitError if histories change past the limit, or cycle, or if rows of bags derive themselves.

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
        """Raise IterationLimitError if rows of bags derive themselves.

        That is so if a derivation is longer than the number of rows: then one row occurs twice in it.
        """
        if self.bounds.has_bags and iteration > sum(map(_rows, closing)):
            raise circle_error(self.bounds.shown)

    def explain_overflow(self, closing: Sequence[ClosingRelations]) -> None:
        """Raise IterationLimitError if a count overflows because rows of bags derive themselves.

        The row that overflows belongs to the round that was checked last, and is not among the rows yet.
        """
        self.refuse_circle(self._iteration - 1, closing)


def _rows(closing: ClosingRelations) -> int:
    """Return the number of distinct rows of the relations in one store."""
    runs = [state.contents.runs for state in closing.relations.values() if state.contents.runs]
    return sum(len(present(of_one)[1]) for of_one in runs)


def computing(queries: Iterable[Query], definitions: Iterable[Definition]) -> tuple[str, ...]:
    """Return the rules and the functions of rows that compute new values from recursive rows, as text.

    Without one, every recursion of sets terminates.
    """
    functions = (each.function for each in definitions if isinstance(each, Examined))
    made = [each.operator.arguments().strip("[]") for each in functions if isinstance(each, Expanded)]
    return tuple(dict.fromkeys([*(query.rule.spoken() for query in queries if query.computes), *made]))
