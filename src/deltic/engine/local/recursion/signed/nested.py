"""A recursion inside a recursion: what it makes, at each iteration, of what its inputs are there.

It is a function of its inputs, kept by an engine of its own. That stands where it was looked at last; to look at it at
another iteration, or in the next epoch, it is told how the inputs differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from deltic.engine.local.operators.custom import decoded, encoded
from deltic.engine.local.operators.query import Environment
from deltic.engine.local.storage.run import Run, Words, add_runs, consolidate, merge_runs, plain
from deltic.engine.local.storage.state import State
from deltic.program.histories import Nested
from deltic.program.nested import alone

if TYPE_CHECKING:
    from deltic.engine.local.engine import LocalEngine


class Inner:
    """The fixpoint with these inputs, for all of its relations that are read."""

    def __init__(self, definition: Nested, sources: Sequence[State], environment: Environment) -> None:
        self.sources, self.environment = sources, environment
        self.circuit = alone(definition.fixpoint, [source.relation.schema for source in sources])
        self.targets: dict[str, State] = {}
        self._engine: LocalEngine | None = None
        self._layouts: Sequence[object] = []
        self._given: list[Run] = []
        self._made: dict[str, Run] = {}

    def made(self, component: str, present: Sequence[Run]) -> Run:
        """What one of the relations is when these are the rows of the inputs."""
        layouts = [state.layout for state in (*self.sources, *self.targets.values())]
        if self._engine is None or any(a is not b for a, b in zip(layouts, self._layouts, strict=True)):
            self._begin(layouts)
        try:
            self._move(present)
        except BaseException:
            self._engine = None
            raise
        return self._made[component]

    def _begin(self, layouts: Sequence[object]) -> None:
        """Let the engine have no rows."""
        from deltic.engine.local.engine import LocalEngine

        self._engine = LocalEngine(self.circuit, iteration_limit=self.environment.iteration_limit)
        self._layouts = layouts
        self._given = [Run(source.no_rows()[0]) for source in self.sources]
        self._made = {name: Run(target.no_rows()[0]) for name, target in self.targets.items()}

    def _move(self, present: Sequence[Run]) -> None:
        """Tell the engine how the inputs differ from what they were."""
        changes = {}
        for number, (source, old, new) in enumerate(zip(self.sources, self._given, present, strict=True)):
            change = merge_runs(new, old.negated())
            if len(change):
                changes[str(number)] = decoded(source, change, self.environment)
        if changes:
            self._take(changes)
        self._given = list(present)

    def _take(self, changes: Mapping[str, object]) -> None:
        """Apply changes of the inputs, and note those of the relations."""
        assert self._engine is not None
        result = self._engine.apply(changes, "trust")
        self.environment.visits.rows += result.rows_visited
        for name, target in self.targets.items():
            if name in result.changes:
                change = encoded(target, result.changes[name], self.environment).run()
                self._made[name] = merge_runs(self._made[name], change or Run(target.no_rows()[0]))


class Nest:
    """How one relation comes of a fixpoint in the body; `drifts` have what the epoch has changed in its inputs."""

    def __init__(self, component: str, target: State, inner: Inner) -> None:
        self.component, self.target, self.inner = component, target, inner
        inner.targets[component] = target
        self.drifts: list[tuple[Run, ...]] = []

    @property
    def probe(self) -> Words:
        """What waits in the place of its rows."""
        return np.zeros((self.target.layout.words, 1), np.uint64)

    def begin(self) -> None:
        """Begin an epoch."""
        self.drifts = [()] * len(self.inner.sources)

    def drift(self, source: State, change: Run) -> None:
        """Enter a change of an input, which is no bootstrap's, into the drift."""
        for number, found in enumerate(self.inner.sources):
            if found is source:
                self.drifts[number] = add_runs(self.drifts[number], Run(change.words, weights=change.weights))

    def change(self, now: int) -> tuple[Words, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """What the relation has more and less, at an iteration, than its history says."""
        present = [self._until(source, now) for source in self.inner.sources]
        made, had = self.inner.made(self.component, present), self._until(self.target, now)
        change = merge_runs(made, had.negated())
        return change.words, change.all_weights()

    def following(self, now: int) -> int | None:
        """The next iteration at which an input has an entry, as long as the changes do not add up to nothing."""
        if not any(self.drifts):
            return None
        runs = [run for source in self.inner.sources for run in source.contents.runs]
        later = [int(run.times[run.times > now].min()) for run in runs if run.max_time > now]
        return min(later, default=None)

    def _until(self, state: State, now: int) -> Run:
        """The rows of a history at an iteration."""
        parts = [
            (run.words[:, past], run.all_weights()[past]) for run in state.contents.runs for past in [run.times <= now]
        ]
        self.inner.environment.visits.rows += len(state.contents)
        if not parts:
            return Run(state.no_rows()[0])
        words, weights = consolidate(
            np.concatenate([w for w, _ in parts], axis=1), np.concatenate([s for _, s in parts])
        )
        return Run(words, weights=plain(weights))


def nests_of(states: Mapping[str, State], environment: Environment) -> dict[str, Nest]:
    """The relations of a component that come of fixpoints inside; those of one fixpoint share its engine."""
    inner: dict[object, Inner] = {}
    found = {}
    for name, target in states.items():
        definition = target.relation.definition
        if isinstance(definition, Nested):
            sources = [states[source] for source in definition.inputs]
            key = definition.fixpoint, definition.inputs
            if key not in inner:
                inner[key] = Inner(definition, sources, environment)
            found[name] = Nest(definition.component, target, inner[key])
    return found
