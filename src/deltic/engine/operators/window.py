"""Time-driven windows: from changes of rows and of a clock to the change of the window's contents [DBSP §8.5]."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.query import Environment
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.columns import LEAST, Raw
from deltic.engine.storage.run import Run, Weights, consolidate
from deltic.engine.storage.state import State
from deltic.program.operators.streams import Windowed


@kernel_of(Windowed)
class Windowing(RelationUpdater):
    """One window. The target stores its rows, also sorted by time, so that rows that leave are a range.

    The time is stored beside it, in an arrangement of one row, or none before the clock's first value.
    """

    def __init__(self, window: Windowed, states: Mapping[str, State], target: State, environment: Environment) -> None:
        self.window, self.target, self.visits = window, target, environment.visits
        self.rows, self.clock = states[window.rows], states[window.clock]
        others = (c for c in target.canonical if c != window.column)
        self.by_time = target.arrangement((window.column, *others))
        self.time = target.keep("clock", (0,), self.clock.domains)

    def change(self) -> Run | None:
        """Return the change of the window, entering minus leaving rows, None if there is none; update the time."""
        before = self._start()
        self._advance()
        after = self._start()
        batch = CountChanges()
        self._enter(batch, after)
        if after > before:
            self._leave(batch, before, after)
        return batch.run()

    def _start(self) -> int:
        """Return the least timestamp in the window now."""
        if not self.time.runs:
            return LEAST
        return max(LEAST, self._now() - self.window.length)

    def _now(self) -> int:
        """Return the latest time of the clock, which has one."""
        ((now, _),) = self.time.layout.values(self.time.runs[0].words)
        return int(now[0])

    def _advance(self) -> None:
        """Set the time to the latest of the clock's changes, unless it is later already."""
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
        """Add the changed rows that are not too old."""
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
        """Subtract the window's rows with timestamps in [before, after)."""
        for run in self.by_time.runs:
            for start, end in self.by_time.between(run, before, after):
                self.visits.rows += end - start
                if end > start:
                    weights = run.weights[start:end] if run.weights.size else np.ones(end - start, np.int64)
                    self._take_back(batch, self.by_time.sorted().columns(run.words[:, start:end]), weights)

    def _take_back(self, batch: CountChanges, columns: list[Raw], weights: Weights) -> None:
        words, sums = consolidate(self.target.layout.pack(columns, len(weights)), -weights)
        batch.add(words, sums)
