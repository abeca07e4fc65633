"""Changes of the counts of rows, gathered in any order and summed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deltic.engine.kernels.thresholds import DEFAULTS
from deltic.engine.storage.run import NO_WEIGHTS, Run, Weights, Words, add_runs, consolidate, merge_runs

# Small parts are summed once they have this many rows in total.
_GATHERED = 1 << 20


class CountChanges:
    """Changes of the counts of rows, added in any order. Parts of at least `large` rows are consolidated at once."""

    def __init__(self, large: int = DEFAULTS.large) -> None:
        self._limit = large
        self._small: list[tuple[Words, Weights]] = []
        self._large: list[Run] = []
        self._gathered = 0
        self.size = 0

    def add(self, words: Words, weights: Weights) -> None:
        """Add rows with weights (empty: all one), in arrays that do not change any more.

        Large batches are consolidated at once to save memory.
        """
        self.size += words.shape[1]
        if words.shape[1] >= self._limit:
            rows, sums = consolidate(words, weights)
            self._keep(Run(rows, weights=sums))
        else:
            self._small.append((words, weights))
            self._gathered += words.shape[1]
            if self._gathered >= _GATHERED:
                self._fold()

    def add_run(self, run: Run) -> None:
        """Add rows that are already sorted and distinct."""
        self.size += len(run)
        self._keep(run)

    def _fold(self) -> None:
        """Sum the small parts."""
        words, weights = consolidate(*_concatenate(self._small))
        self._small, self._gathered = [], 0
        self._keep(Run(words, weights=weights))

    def _keep(self, run: Run) -> None:
        """Keep a run. Runs of similar size are merged at once, so that shared rows take memory only once.

        Merging does not detect overflow, so heavy runs are left to `consolidate`.
        """
        runs = add_runs(tuple(self._large), run)
        self._large = [run for run in runs if not run.is_heavy]
        self._small += [(run.words, run.weights) for run in runs if run.is_heavy]

    def parts(self) -> Iterator[tuple[Words, Weights]]:
        """Yield the parts that are not summed yet, with weights (empty: all one)."""
        yield from self._small
        yield from ((run.words, run.weights.astype(np.int64, copy=False)) for run in self._large)

    def total(self) -> tuple[Words, Weights] | None:
        """Return the rows whose sum is not zero, sorted, with their sums; None if nothing was added."""
        if not self._large:
            return consolidate(*_concatenate(self._small)) if self._small else None
        runs = list(self._large)
        if self._small:
            words, weights = consolidate(*_concatenate(self._small))
            runs.append(Run(words, weights=weights))
        if any(run.is_heavy for run in runs):
            return consolidate(*_concatenate([(run.words, run.all_weights()) for run in runs]))
        while len(runs) > 1:
            runs.sort(key=len, reverse=True)
            runs.append(merge_runs(runs.pop(), runs.pop()))
        return runs[0].words, runs[0].all_weights()

    def run(self) -> Run | None:
        """Return the total as a run; None if all sums are zero."""
        total = self.total()
        return Run(total[0], weights=total[1]) if total is not None and len(total[1]) else None


def _concatenate(parts: list[tuple[Words, Weights]]) -> tuple[Words, Weights]:
    if len(parts) == 1:
        return parts[0]
    words = np.concatenate([w for w, _ in parts], axis=1)
    if not any(weights.size for _, weights in parts):
        return words, NO_WEIGHTS
    full = [weights if weights.size else np.ones(rows.shape[1], np.int64) for rows, weights in parts]
    return words, np.concatenate(full)
