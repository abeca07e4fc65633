"""Sums over epochs: in each epoch all rows of a relation are added again."""

from __future__ import annotations

from collections.abc import Mapping

from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.query import Environment
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.run import Run
from deltic.engine.storage.state import State
from deltic.program.operators.streams import Summed


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
