"""Operators on streams of epochs: delays [DBSP §8.3], and sums, which add all rows of a relation in each epoch."""

from __future__ import annotations

from collections.abc import Mapping

from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.query import Environment
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.operators.streams import Delayed, Summed


@kernel_of(Delayed)
class Delaying(RelationUpdater):
    """One delay. The change for the next epoch is stored beside the target."""

    def __init__(self, delayed: Delayed, states: Mapping[str, State], target: State, environment: Environment) -> None:
        self.source, self.target, self.visits = states[delayed.source], target, environment.visits
        self.pending = target.keep("delay", target.canonical, target.domains)

    @property
    def is_due(self) -> bool:
        """Return whether there is a change for the coming epoch."""
        return bool(self.pending.runs)

    def change(self) -> Run | None:
        """Return the source's change in the previous epoch, None if there is none, and store that of this one."""
        due, new = self.pending.runs, self.source.delta
        self.pending.runs = ()
        if new is not None and len(new):
            self.visits.rows += len(new)
            words = self.pending.layout.pack(self.source.layout.unpack(new.words), len(new))
            self.pending.runs = (Run(words, weights=new.weights),)
        if not due:
            return None
        words = self.target.layout.pack(self.pending.layout.unpack(due[0].words), len(due[0]))
        return Run(words, weights=due[0].weights)


@kernel_of(Summed)
class Summing(RelationUpdater):
    """One sum, which is due in each epoch in which the source has rows."""

    def __init__(self, summed: Summed, states: Mapping[str, State], target: State, environment: Environment) -> None:
        self.source, self.target, self.visits = states[summed.source], target, environment.visits

    @property
    def is_due(self) -> bool:
        """Return whether the source has rows."""
        return bool(len(self.source.contents))

    def change(self) -> Run | None:
        """Return all rows of the source as the change."""
        rows = self.source.whole()
        self.visits.rows += len(rows)
        batch = CountChanges()
        batch.add(self.target.layout.pack(self.source.layout.unpack(rows.words), len(rows)), rows.all_weights())
        return batch.run()
