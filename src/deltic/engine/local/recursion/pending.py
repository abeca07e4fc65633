"""Derivations that wait for their iteration: changes of counts of (row, iteration), gathered and added up."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from deltic.engine.local.kernels.thresholds import DEFAULTS
from deltic.engine.local.operators.search import Derived
from deltic.engine.local.storage.batch import Batch
from deltic.engine.local.storage.run import (
    NO_WEIGHTS,
    Run,
    Times,
    Weights,
    Words,
    consolidate,
    plain,
)


class Agenda:
    """What has to be looked at, by iteration: changed counts, and rows to reconsider; `waiting` entries in all."""

    def __init__(self, large: int = DEFAULTS.large) -> None:
        self._large = large
        self.counts: dict[int, Batch] = {}
        self.again: dict[int, list[Words]] = {}
        self._times: list[int] = []
        self.waiting = 0

    def _at(self, time: int) -> Batch:
        """The batch of an iteration."""
        if time not in self.counts:
            self.counts[time] = Batch(self._large)
            heapq.heappush(self._times, time)
        return self.counts[time]

    def derive(self, derived: Derived, time: int) -> None:
        """Add derivations; those without times of their own are of iteration `time`."""
        if derived.consolidated:
            self.add(Run(derived.words, weights=plain(derived.weights)), time)
            return
        if not len(derived):
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
