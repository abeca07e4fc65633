"""Functions of whole relations, which are computed at each iteration from their contents there.

A function is computed at each iteration at which an input changes. While the changes of the epoch do not sum to zero,
it is also computed at each later iteration at which an input has an entry. In between inputs and results stay the same.

A timeline is a history in the order of its iterations, to read the changes between two of them. The function of a
recursion inside a recursion is an engine of its own, whose state is that of one iteration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltic.engine.operators.custom import decoded, encoded
from deltic.engine.operators.query import Environment
from deltic.engine.protocol import Engine
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.run import Run, Times, Words, add_runs, consolidate, merge_runs
from deltic.engine.storage.state import State
from deltic.program.histories import Nested
from deltic.program.nested import alone

BEGINNING = -1
"""The iteration before all others, with no rows."""


class _Sorted(NamedTuple):
    """A run with its iterations in ascending order, and the position of the row of each."""

    run: Run
    times: Times
    order: npt.NDArray[np.int32]


class Timeline:
    """Reads the entries of a relation between two iterations, in time proportional to their number.

    Each run is sorted by its iterations once. Runs never change, so a restored state reuses the same sorted runs.
    """

    def __init__(self, state: State, environment: Environment) -> None:
        self.state, self.environment = state, environment
        self._sorted: dict[int, _Sorted] = {}

    def between(self, after: int, until: int) -> Run:
        """Return the sum of the entries later than iteration `after`, up to and including `until`."""
        words, weights = [self.state.layout.no_rows()[0]], [np.empty(0, np.int64)]
        for run, times, order in self._runs():
            first, end = np.searchsorted(times, (after, until), side="right")
            there = order[first:end]
            words.append(run.words[:, there])
            weights.append(run.weights[there].astype(np.int64) if run.weights.size else np.ones(len(there), np.int64))
        rows, sums = consolidate(np.concatenate(words, axis=1), np.concatenate(weights))
        self.environment.visits.rows += sum(map(len, weights))
        return Run(rows, weights=sums)

    def after(self, now: int) -> int | None:
        """Return the next iteration with an entry."""
        firsts = ((times, int(np.searchsorted(times, now, side="right"))) for _, times, _ in self._runs())
        return min((int(times[first]) for times, first in firsts if first < len(times)), default=None)

    def _runs(self) -> list[_Sorted]:
        known = self._sorted
        self._sorted = {id(run): known.get(id(run)) or _sorted(run) for run in self.state.contents.runs}
        return [*self._sorted.values()]


def _sorted(run: Run) -> _Sorted:
    times = run.times if run.times.size else np.zeros(len(run), np.int8)
    order = np.argsort(times, kind="stable").astype(np.int32)
    return _Sorted(run, times[order], order)


class RelationFunction(ABC):
    """A function of some relations, with its `outputs`, which are computed together; `targets` are these by name.

    A mark in the store says that the function was computed, and each computation replaces it. If the store does not
    have the mark that was left last, an epoch was rolled back, or there was a restart.
    """

    def __init__(self, sources: Sequence[State], environment: Environment) -> None:
        self.sources, self.environment = sources, environment
        self.timelines = [Timeline(source, environment) for source in sources]
        self.outputs: list[FunctionOutput] = []
        self.drifts: list[tuple[Run, ...]] = []
        self._left: tuple[Run, ...] | None = None

    @property
    def targets(self) -> Mapping[str, State]:
        """The relations that it computes, by the function's names for them."""
        return {output.name: output.target for output in self.outputs}

    @property
    def is_begun(self) -> bool:
        """Return whether its value for empty inputs is in the histories."""
        return bool(self._mark.runs)

    @property
    def _mark(self) -> Arrangement:
        return self.outputs[0].target.keep("mark", (), ())

    def begin(self) -> None:
        """Start an epoch."""
        self.drifts = [()] * len(self.sources)
        if self._left is None or self._mark.runs is not self._left:
            self.restart()

    def restart(self) -> None:
        """Discard all state in memory: by default there is none."""
        return

    def drift(self, source: State, change: Run) -> None:
        """Add a change of an input to the drift. Not called in a bootstrap."""
        for number, result in enumerate(self.sources):
            if result is source:
                self.drifts[number] = add_runs(self.drifts[number], Run(change.words, weights=change.weights))

    def change(self, name: str, now: int) -> Run:
        """Return the change of a relation at an iteration, relative to its history. Call it once for each."""
        self._left = None
        result = self.look(name, now)
        self._mark.runs = self._left = (Run(self._mark.layout.pack([], 1)),)
        return result

    @abstractmethod
    def look(self, name: str, now: int) -> Run:
        """Return the change of a relation."""

    def following(self, now: int) -> int | None:
        """Return the next iteration at which to compute: that of an input's next entry, while there is drift."""
        if not any(self.drifts):
            return None
        later = (timeline.after(now) for timeline in self.timelines)
        return min((time for time in later if time is not None), default=None)

    def present(self, now: int) -> list[Run]:
        """Return the inputs at an iteration."""
        return [timeline.between(BEGINNING, now) for timeline in self.timelines]


class Following(RelationFunction):
    """A function whose state is that of one iteration; input deltas move it to another.

    If an epoch starts before that iteration, the function gets the deltas backwards, and then the epoch's own changes.
    """

    def restart(self) -> None:
        self._at, self._owed = BEGINNING, dict[str, Run]()
        self._shown = dict.fromkeys(self.targets, BEGINNING)
        self._results = {name: Timeline(target, self.environment) for name, target in self.targets.items()}

    def begin(self) -> None:
        super().begin()
        self._is_first = True

    @abstractmethod
    def follow(self, changes: Sequence[Run]) -> Mapping[str, Run]:
        """Apply changes of the inputs, and return those of the results. The first changes start from empty inputs."""

    def look(self, name: str, now: int) -> Run:
        if name not in self._owed:
            assert not self._owed
            changed = self.follow([self._moved(i, now) for i in range(len(self.sources))])
            nothing = {name: Run(target.layout.no_rows()[0]) for name, target in self.targets.items()}
            self._owed, self._at, self._is_first = {**nothing, **changed}, now, False
        owed, past, self._shown[name] = self._owed.pop(name), self._shown[name], now
        return merge_runs(owed, _between(self._results[name], past, now).negated())

    def _moved(self, number: int, now: int) -> Run:
        """Return the change of an input from this function's iteration to another one."""
        timeline = self.timelines[number]
        if not self._is_first or self._at < now:
            return timeline.between(self._at, now)
        return merge_runs(_between(timeline, self._at, now), total(self.drifts[number], self.sources[number]))


def _between(timeline: Timeline, start: int, end: int) -> Run:
    """Return the change of a history between two iterations, in either direction."""
    return timeline.between(start, end) if start <= end else timeline.between(end, start).negated()


def total(runs: Sequence[Run], state: State) -> Run:
    """Return the sum of changes of a relation."""
    result = Run(state.layout.no_rows()[0])
    for run in runs:
        result = merge_runs(result, run)
    return result


class FunctionOutput:
    """A relation that a function of whole relations computes, with the function's name for it."""

    def __init__(self, name: str, target: State, function: RelationFunction) -> None:
        self.name, self.target, self.function = name, target, function
        function.outputs.append(self)

    @property
    def probe(self) -> Words:
        """The row that is queued instead of its rows, when it is due."""
        return np.zeros((self.target.layout.words, 1), np.uint64)

    def change(self, now: int) -> Run:
        """Return the change of the relation at an iteration, relative to its history."""
        return self.function.change(self.name, now)


class InnerFixpoint(Following):
    """The inner fixpoint with these inputs; it computes all of its relations that are read."""

    def __init__(self, definition: Nested, sources: Sequence[State], environment: Environment) -> None:
        super().__init__(sources, environment)
        self.circuit = alone(definition.fixpoint, [source.relation.schema for source in sources])
        self._engine: Engine | None = None

    def restart(self) -> None:
        super().restart()
        self._engine = None

    def follow(self, changes: Sequence[Run]) -> Mapping[str, Run]:
        given = {
            str(number): decoded(source, change, self.environment)
            for number, (source, change) in enumerate(zip(self.sources, changes, strict=True))
            if len(change)
        }
        if self._engine is None:
            self._engine = self.environment.inner_engine(self.circuit)
        elif not given:
            return {}
        result = self._engine.apply(given, "trust")
        self.environment.visits.rows += result.rows_visited
        found = {
            name: encoded(target, result.changes[name], self.environment).run()
            for name, target in self.targets.items()
            if name in result.changes
        }
        return {name: run for name, run in found.items() if run is not None}
