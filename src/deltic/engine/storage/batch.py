"""Batches: changes of counts of rows, gathered in any order and added up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deltic.engine.kernels.thresholds import DEFAULTS
from deltic.engine.storage.run import NO_WEIGHTS, Run, Weights, Words, add_runs, consolidate, merge_runs, plain

# Rows of small parts from which on these are added up.
_GATHERED = 1 << 20


class CountChanges:
    """Changes of counts of rows, added in any order; from `large` rows on, what is added is consolidated at once."""

    def __init__(self, large: int = DEFAULTS.large) -> None:
        self._limit = large
        self._small: list[tuple[Words, Weights]] = []
        self._large: list[Run] = []
        self._gathered = 0
        self.size = 0

    def add(self, words: Words, weights: Weights) -> None:
        """Add rows with weights (empty: all one); large batches are consolidated at once to save memory."""
        self.size += words.shape[1]
        if words.shape[1] >= self._limit:
            rows, sums = consolidate(words, weights)
            self._keep(Run(rows, weights=plain(sums)))
        else:
            self._small.append((words.copy(), weights.copy()))
            self._gathered += words.shape[1]
            if self._gathered >= _GATHERED:
                self._fold()

    def add_run(self, run: Run) -> None:
        """Add rows that are sorted and distinct already."""
        self.size += len(run)
        self._keep(run)

    def _fold(self) -> None:
        """Add up the small parts."""
        words, weights = consolidate(*_concatenate(self._small))
        self._small, self._gathered = [], 0
        self._keep(Run(words, weights=plain(weights)))

    def _keep(self, run: Run) -> None:
        """Runs of similar size are added up at once: what is in both needs its memory but once.

        Merging does not see what overflows: heavy runs are for `consolidate`.
        """
        runs = add_runs(tuple(self._large), run)
        self._large = [run for run in runs if not run.is_heavy]
        self._small += [(run.words, run.weights) for run in runs if run.is_heavy]

    def parts(self) -> Iterator[tuple[Words, Weights]]:
        """All that was added and not yet summed up, with weights (empty: all one)."""
        yield from self._small
        yield from ((run.words, run.weights.astype(np.int64, copy=False)) for run in self._large)

    def total(self) -> tuple[Words, Weights] | None:
        """The rows whose sum is not zero, sorted, with their sums; None when nothing was added."""
        runs = list(self._large)
        if self._small:
            words, weights = consolidate(*_concatenate(self._small))
            runs.append(Run(words, weights=weights))
        if not runs:
            return None
        if any(run.is_heavy for run in runs):
            return consolidate(*_concatenate([(run.words, run.all_weights()) for run in runs]))
        while len(runs) > 1:
            runs.sort(key=len, reverse=True)
            runs.append(merge_runs(runs.pop(), runs.pop()))
        return runs[0].words, runs[0].all_weights()

    def run(self) -> Run | None:
        """The same as a run; None when nothing is left."""
        total = self.total()
        return Run(total[0], weights=plain(total[1])) if total is not None and len(total[1]) else None


def _concatenate(parts: list[tuple[Words, Weights]]) -> tuple[Words, Weights]:
    words = np.concatenate([w for w, _ in parts], axis=1)
    if not any(weights.size for _, weights in parts):
        return words, NO_WEIGHTS
    full = [weights if weights.size else np.ones(rows.shape[1], np.int64) for rows, weights in parts]
    return words, np.concatenate(full)
