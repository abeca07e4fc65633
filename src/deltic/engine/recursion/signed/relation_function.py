"""Functions of whole relations: at each iteration, of what these are there.

It is looked at where one of its inputs changes, and, as long as the changes of the epoch do not add up to nothing, at
each later iteration at which an input has an entry. Between two of these, inputs and results are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from deltic.engine.operators.query import Environment
from deltic.engine.recursion.signed.timeline import BEGINNING, Timeline
from deltic.engine.storage.arrangement import Arrangement
from deltic.engine.storage.run import Run, Words, add_runs, merge_runs
from deltic.engine.storage.state import State


class RelationFunction(ABC):
    """A function of some relations, with its `outputs`, which are looked at together; `targets` are these by name.

    A mark in the store says that it was looked at; it is another one after each look. Where the store has not the mark
    that was left last, an epoch was taken back, or there was a restart.
    """

    def __init__(self, sources: Sequence[State], environment: Environment) -> None:
        self.sources, self.environment = sources, environment
        self.timelines = [Timeline(source, environment) for source in sources]
        self.outputs: list[FunctionOutput] = []
        self.drifts: list[tuple[Run, ...]] = []
        self._left: tuple[Run, ...] | None = None

    @property
    def targets(self) -> Mapping[str, State]:
        """The relations that it computes, by what the function calls them."""
        return {output.name: output.target for output in self.outputs}

    @property
    def is_begun(self) -> bool:
        """Whether what it makes of nothing is in the histories."""
        return bool(self._mark.runs)

    @property
    def _mark(self) -> Arrangement:
        return self.outputs[0].target.keep("mark", (), ())

    def begin(self) -> None:
        """Begin an epoch."""
        self.drifts = [()] * len(self.sources)
        if self._left is None or self._mark.runs is not self._left:
            self.restart()

    @abstractmethod
    def restart(self) -> None:
        """Forget all that is in memory."""

    def drift(self, source: State, change: Run) -> None:
        """Enter a change of an input, which is no bootstrap's, into the drift."""
        for number, result in enumerate(self.sources):
            if result is source:
                self.drifts[number] = add_runs(self.drifts[number], Run(change.words, weights=change.weights))

    def change(self, name: str, now: int) -> Run:
        """What a relation has more and less, at an iteration, than its history says; asked once for each."""
        self._left = None
        result = self.look(name, now)
        self._mark.runs = self._left = (Run(self._mark.layout.pack([], 1)),)
        return result

    @abstractmethod
    def look(self, name: str, now: int) -> Run:
        """What a relation has more and less."""

    def following(self, now: int) -> int | None:
        """The next iteration at which to look: that of an entry, as long as there is drift."""
        if not any(self.drifts):
            return None
        later = (timeline.after(now) for timeline in self.timelines)
        return min((time for time in later if time is not None), default=None)

    def present(self, now: int) -> list[Run]:
        """The inputs at an iteration."""
        return [timeline.between(BEGINNING, now) for timeline in self.timelines]


class Following(RelationFunction):
    """A function at one iteration: input deltas move it to another.

    An epoch that begins earlier than where it stands is told them backwards, and its own changes on top.
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
        """Apply changes of the inputs: how the results change by them; the first ones are from nothing."""

    def look(self, name: str, now: int) -> Run:
        if name not in self._owed:
            assert not self._owed
            changed = self.follow([self._moved(i, now) for i in range(len(self.sources))])
            nothing = {name: Run(target.no_rows()[0]) for name, target in self.targets.items()}
            self._owed, self._at, self._is_first = {**nothing, **changed}, now, False
        owed, past, self._shown[name] = self._owed.pop(name), self._shown[name], now
        return merge_runs(owed, _between(self._results[name], past, now).negated())

    def _moved(self, number: int, now: int) -> Run:
        """How an input at an iteration differs from what it was where this stands."""
        timeline = self.timelines[number]
        if not self._is_first or self._at < now:
            return timeline.between(self._at, now)
        return merge_runs(_between(timeline, self._at, now), total(self.drifts[number], self.sources[number]))


def _between(timeline: Timeline, start: int, end: int) -> Run:
    """How a history differs at one iteration from another, which may be later."""
    return timeline.between(start, end) if start <= end else timeline.between(end, start).negated()


def total(runs: Sequence[Run], state: State) -> Run:
    """The sum of changes of a relation."""
    result = Run(state.no_rows()[0])
    for run in runs:
        result = merge_runs(result, run)
    return result


class FunctionOutput:
    """A relation that a function of whole relations computes, and what the function calls it."""

    def __init__(self, name: str, target: State, function: RelationFunction) -> None:
        self.name, self.target, self.function = name, target, function
        function.outputs.append(self)

    @property
    def probe(self) -> Words:
        """What waits in the place of its rows."""
        return np.zeros((self.target.layout.words, 1), np.uint64)

    def change(self, now: int) -> Run:
        """What the relation has more and less, at an iteration, than its history says."""
        return self.function.change(self.name, now)
