"""Derivations that wait for their iteration: changes of counts of (row, iteration), gathered and added up."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from deltic.engine.local.run import NO_WEIGHTS, Run, Times, Weights, Words, add_runs, consolidate, merge_runs, plain
from deltic.engine.local.search import Derived

_LARGE = 1 << 16


class Batch:
    """Changes of counts of rows, added in any order."""

    def __init__(self) -> None:
        self._small: list[tuple[Words, Weights]] = []
        self._large: list[Run] = []
        self.size = 0

    def add(self, words: Words, weights: Weights) -> None:
        """Add rows with weights (empty: all one); large batches are consolidated at once to save memory."""
        self.size += words.shape[1]
        if words.shape[1] >= _LARGE:
            rows, sums = consolidate(words, weights)
            self._keep(Run(rows, weights=plain(sums)))
        else:
            self._small.append((words.copy(), weights.copy()))

    def add_run(self, run: Run) -> None:
        """Add rows that are sorted and distinct already."""
        self.size += len(run)
        self._keep(run)

    def _keep(self, run: Run) -> None:
        """Runs of similar size are added up at once: what is in both needs its memory but once."""
        self._large = list(add_runs(tuple(self._large), run))

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


class Agenda:
    """What has to be looked at, by iteration: changed counts, and rows to reconsider; `waiting` entries in all."""

    def __init__(self) -> None:
        self.counts: dict[int, Batch] = {}
        self.again: dict[int, list[Words]] = {}
        self._times: list[int] = []
        self.waiting = 0

    def _at(self, time: int) -> Batch:
        """The batch of an iteration."""
        if time not in self.counts:
            self.counts[time] = Batch()
            heapq.heappush(self._times, time)
        return self.counts[time]

    def derive(self, derived: Derived, time: int) -> None:
        """Add derivations; those without times of their own are of iteration `time`."""
        if derived.consolidated:
            self.add(Run(derived.words, weights=plain(derived.weights)), time)
            return
        self.waiting += len(derived)
        if not derived.times.size:
            self._at(time).add(derived.words, derived.weights)
            return
        order = np.argsort(derived.times, kind="stable")
        times = derived.times[order]
        starts = np.flatnonzero(np.diff(times, prepend=times[0] - 1))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(times)], strict=True):
            part = order[start:end]
            weights = derived.weights[part] if derived.weights.size else NO_WEIGHTS
            self._at(int(times[start])).add(derived.words[:, part], weights)

    def add(self, run: Run, time: int) -> None:
        """Add derivations of one iteration that are summed up already."""
        if len(run):
            self.waiting += len(run)
            self._at(time).add_run(run)

    def reconsider(self, words: Words, times: Times) -> None:
        """Look at rows again at their iterations."""
        self.waiting += len(times)
        for time in np.unique(times).tolist():
            self.again.setdefault(time, []).append(words[:, times == time])
            heapq.heappush(self._times, time)

    def first(self) -> int | None:
        """The least iteration at which anything is to be done."""
        while self._times and self._times[0] not in self.counts and self._times[0] not in self.again:
            heapq.heappop(self._times)
        return self._times[0] if self._times else None

    def width(self, time: int) -> int:
        """The entries of one iteration."""
        counted = self.counts[time].size if time in self.counts else 0
        return counted + sum(int(words.shape[1]) for words in self.again.get(time, ()))

    def drain(self) -> Iterator[tuple[int, Words, Weights]]:
        """Remove all entries, by iteration; rows to reconsider have weight zero."""
        for time, batch in self.counts.items():
            for words, weights in batch.parts():
                yield time, words, weights if weights.size else np.ones(words.shape[1], np.int64)
        for time, parts in self.again.items():
            for words in parts:
                yield time, words, np.zeros(words.shape[1], np.int64)
        self.counts, self.again, self._times, self.waiting = {}, {}, [], 0

    def take(self, time: int) -> tuple[Words, Weights] | None:
        """The rows of one iteration, sorted and distinct, with the changes of their counts, 0 if only reconsidered."""
        self.waiting -= self.width(time)
        batch = self.counts.pop(time, None)
        again = self.again.pop(time, [])
        total = batch.total() if batch is not None else None
        if not again or total is None:
            return consolidate(np.concatenate(again, axis=1), _zeros(again), keep_zeros=True) if again else total
        words = np.concatenate([*again, total[0]], axis=1)
        return consolidate(words, np.concatenate([_zeros(again), total[1]]), keep_zeros=True)


def _zeros(parts: list[Words]) -> Weights:
    return np.zeros(sum(words.shape[1] for words in parts), np.int64)
