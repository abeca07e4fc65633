"""Whether the rounds of a recursion come to an end: asked of all shards together, as the local engine asks itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deltic.circuit.iterations import Deadline, circle_error, limit_error
from deltic.engine.local.recursion.signed.admission import Depth
from deltic.engine.local.recursion.signed.oscillation import Part, Watch
from deltic.engine.local.storage.arrangement import present
from deltic.engine.local.storage.kinds import Kind, kind_of
from deltic.engine.shards.options import Options
from deltic.engine.shards.plan import Iterate, Turn
from deltic.engine.shards.shard import Shard
from deltic.program.histories import BY_ITERATION, History
from deltic.program.program import Program


class End:
    """The depth that the rounds of a recursion reach; before them its rows were of iterations up to `deepest`."""

    def __init__(self, step: Iterate, program: Program, options: Options, deepest: int) -> None:
        self.step, self.limit = step, options.iteration_limit
        self._deadline = Deadline(options.recursion_timeout)
        relations = step.stratum.relations
        definitions = [program.relations[name].definition for name in relations]
        jumps = any(isinstance(each, History) and each.admission is not None for each in definitions)
        self._has_bags = any(kind_of(program, name) is Kind.RECURSIVE_BAG for name in relations)
        self._depth, self._watch = Depth(jumps), Watch(deepest)

    def check(self, turn: Turn) -> None:
        """Before a round: raise IterationLimitError past the limit of iterations, for sets or bags, or of time.

        At the iteration after it, known rows may be derived again.
        """
        if not self.step.stratum.signed and turn.iteration > self.limit + 1 and self.step.computing:
            raise limit_error(self.step.shown, self.step.computing, self.limit)
        if self._deadline.is_past(turn.iteration) and self.step.computing:
            raise limit_error(self.step.shown, self.step.computing, turn.iteration, self._deadline.timeout)

    def is_due(self, turn: Turn, reached: int) -> bool:
        """Whether to `look` after a round; the last iteration at which any shard has changed is the one `reached`."""
        if reached < turn.iteration:
            return False
        if self.step.stratum.signed:
            return self._depth.reach(turn.iteration) > self._watched
        return self._has_bags and turn.iteration >= self._watch.horizon

    @property
    def _watched(self) -> int:
        """The depth from which on it is asked whether there is an end; values that improve do not go round."""
        return self.limit if self._depth.jumps else min(self.limit, self._watch.horizon)

    def look(self, turn: Turn, shards: Sequence[Shard]) -> None:
        """Raise IterationLimitError where histories change past the limit, or go round, or rows derive themselves."""
        if not self.step.stratum.signed:
            self._watch.horizon = 2 * turn.iteration
            self.refuse_circle(turn, shards)
            return
        if not self._depth.jumps:
            shown = {name: name.removesuffix(BY_ITERATION) for name in self.step.closing}
            parts = [Part({shown[n]: s.states[n] for n in self.step.closing}, s.store.interner) for s in shards]
            self._watch.look(turn.iteration, parts)
        if self._depth.depth > self.limit:
            raise limit_error(self.step.shown, self.step.computing, self.limit)

    def refuse_circle(self, turn: Turn, shards: Sequence[Shard]) -> None:
        """Raise IterationLimitError where rows of bags derive themselves."""
        if self._has_bags and turn.iteration > sum(self._rows(shards)):
            raise circle_error(self.step.shown)

    def _rows(self, shards: Iterable[Shard]) -> Iterable[int]:
        """How many different rows each relation has on each shard; a longer derivation has one of them twice."""
        for shard in shards:
            for name in self.step.stratum.relations:
                if runs := shard.states[name].contents.runs:
                    yield len(present(runs)[1])
