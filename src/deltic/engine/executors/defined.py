"""A relation with a kernel, as a step of an epoch."""

from __future__ import annotations

import time
from collections.abc import Mapping

from deltic.engine.operators.kernel import KERNELS
from deltic.engine.operators.query import Environment
from deltic.engine.result import ComponentReport
from deltic.engine.storage.kinds import RelationKind
from deltic.engine.storage.state import State


class DefinedStep:
    """Updates one relation by its kernel; `follows` are the relations that its definition reads.

    Its rows are stored if they `are_stored`, and if its kind stores any.
    """

    def __init__(
        self, name: str, states: Mapping[str, State], environment: Environment, are_stored: bool = True
    ) -> None:
        self.relations, self.state, self._visits = (name,), states[name], environment.visits
        definition = self.state.relation.definition
        self.follows, self.is_timed = frozenset(definition.sources), definition.is_timed
        self.kernel = KERNELS[type(definition)](definition, states, self.state, environment)
        self.sources = [states[name] for name in definition.sources]
        self._are_stored = are_stored

    @property
    def is_due(self) -> bool:
        """Return whether it must run even if nothing below it changes."""
        return self.kernel.is_due

    def run(self) -> ComponentReport | None:
        """Compute the relation's change from those of its sources. Return a report if all rows were recomputed."""
        started, before = time.perf_counter(), self._visits.rows
        change = self.kernel.change()
        self.state.set_change(change, self._are_stored)
        if not self.kernel.recomputes:
            return None
        visited, seconds = self._visits.rows - before, time.perf_counter() - started
        rows_in = sum(len(source.delta) for source in self.sources if source.delta is not None)
        outcome = "fallback", "recompute", self.kernel.recomputes, rows_in, len(change or ()), visited, seconds
        return ComponentReport(self.relations, *outcome, self.state.nbytes)

    def begin(self) -> None:
        """Compute all rows: the change is all rows of its sources. Sources without stored rows have run before."""
        deltas = [source.delta for source in self.sources]
        for source in self.sources:
            if source.kind is not RelationKind.TRANSIENT:
                source.delta = source.whole()
        try:
            if any(source.delta for source in self.sources):
                self.run()
        finally:
            for source, delta in zip(self.sources, deltas, strict=True):
                source.delta = delta
