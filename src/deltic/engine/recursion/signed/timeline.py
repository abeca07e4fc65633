"""A history in the order of its iterations, to read the changes between two of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltic.engine.operators.query import Environment
from deltic.engine.storage.run import Run, Times, consolidate
from deltic.engine.storage.state import State

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
