"""Time-driven windows: from changes of rows and of a clock to the change of what is in the window [DBSP §8.5]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.query import Environment
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.layout import LEAST, Raw
from deltic.engine.storage.run import Run, Weights, consolidate
from deltic.engine.storage.state import State
from deltic.program.operators.window import Windowed


@kernel_of(Windowed)
class Windowing(RelationUpdater):
    """One window. The target holds its rows, sorted by time too, so that those that leave are a range.

    Beside it stands the time: an arrangement of one row, none before the clock has had a value.
    """

    def __init__(self, window: Windowed, states: Mapping[str, State], target: State, environment: Environment) -> None:
        self.window, self.target, self.visits = window, target, environment.visits
        self.rows, self.clock = states[window.rows], states[window.clock]
        others = (c for c in target.canonical if c != window.column)
        self.by_time = target.arrangement((window.column, *others))
        self.time = target.keep("clock", (0,), self.clock.domains)

    def change(self) -> Run | None:
        """The change of the window: what enters it, less what leaves it; None for none. Brings the time up to date."""
        before = self._start()
        self._advance()
        after = self._start()
        batch = CountChanges()
        self._enter(batch, after)
        if after > before:
            self._leave(batch, before, after)
        return batch.run()

    def _start(self) -> int:
        """The least timestamp that is in the window now."""
        if not self.time.runs:
            return LEAST
        return max(LEAST, self._now() - self.window.length)

    def _now(self) -> int:
        """The latest time of the clock, which has had one."""
        ((now, _),) = self.time.layout.values(self.time.runs[0].words)
        return int(now[0])

    def _advance(self) -> None:
        """Let the time be the latest of the clock's changes, unless it is later already."""
        if self.clock.delta is None or not len(self.clock.delta):
            return
        self.visits.rows += len(self.clock.delta)
        ((values, nulls),) = self.clock.layout.values(self.clock.delta.words)
        values = values if nulls is None else values[~nulls]
        if not values.size:
            return
        latest = int(values.max())
        if not self.time.runs or latest > self._now():
            raw = self.time.domains[0].encode(np.array([latest], np.int64))
            self.time.runs = (Run(self.time.layout.pack([raw], 1)),)

    def _enter(self, batch: CountChanges, start: int) -> None:
        """The changed rows that are not too old."""
        delta = self.rows.delta
        if delta is None:
            return
        self.visits.rows += len(delta)
        times, nulls = self.rows.layout.values(delta.words)[self.window.column]
        recent = times >= start if nulls is None else (times >= start) & ~nulls
        columns = [column[recent] for column in self.rows.layout.unpack(delta.words)]
        weights = delta.weights[recent] if delta.weights.size else np.ones(int(recent.sum()), np.int64)
        batch.add(self.target.layout.pack(columns, len(weights)), weights)

    def _leave(self, batch: CountChanges, before: int, after: int) -> None:
        """The rows of the window with timestamps from `before` up to but not `after`, taken back."""
        for run in self.by_time.runs:
            for start, end in self.by_time.between(run, before, after):
                self.visits.rows += end - start
                if end > start:
                    weights = run.weights[start:end] if run.weights.size else np.ones(end - start, np.int64)
                    self._take_back(batch, self.by_time.sorted().columns(run.words[:, start:end]), weights)

    def _take_back(self, batch: CountChanges, columns: list[Raw], weights: Weights) -> None:
        words, sums = consolidate(self.target.layout.pack(columns, len(weights)), -weights)
        batch.add(words, sums)
