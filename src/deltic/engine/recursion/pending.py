"""The pending queue: the entries for the rounds of a recursion, by iteration and level, the least first.

What must hold:

* A round is an iteration and a level: the relations of a level are settled together, after those that they depend on
  in the same iteration.
* An entry is a change of the weight of a row at an iteration, or a row to look at again there, whose change is 0.
* `first` is the least round with an entry. Once it is taken, no change is added for it or an earlier round: rules
  derive rows for the next iteration, or for a later level of the same one.
* `take` returns each row once, in order, with the sum of its changes. If all changes cancel, a round changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from deltic.engine.kernels.heap import RELATION_BITS, Heap
from deltic.engine.kernels.thresholds import DEFAULTS
from deltic.engine.operators.search import Derivations
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.run import NO_WEIGHTS, Run, Times, Weights, Words, consolidate


class RoundId(NamedTuple):
    """A round of a recursion: a level of relations at an iteration."""

    iteration: int
    level: int


FIRST = RoundId(0, 0)
"""The least round: nothing is pending before it."""

# The distinct rows of an iteration, sorted, with the changes of their weights, 0 for rows to look at again.
Candidates = tuple[Words, Weights]


class PendingRows:
    """The entries of one relation, by iteration; `waiting` is their number."""

    def __init__(self, large: int) -> None:
        self._large = large
        self._changes: dict[int, CountChanges] = {}
        self._again: dict[int, list[Words]] = {}
        self._times: list[int] = []
        self.waiting = 0

    def _at(self, time: int) -> CountChanges:
        """Return the changes of an iteration."""
        if time not in self._changes:
            self._changes[time] = CountChanges(self._large)
            heapq.heappush(self._times, time)
        return self._changes[time]

    def derive(self, derived: Derivations, time: int) -> None:
        """Add derivations. Those without times of their own belong to iteration `time`."""
        if derived.consolidated:
            self.add(Run(derived.words, weights=derived.weights), time)
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
        """Add changes of one iteration that are already summed."""
        if len(run):
            self.waiting += len(run)
            self._at(time).add_run(run)

    def reconsider(self, words: Words, times: Times) -> None:
        """Add rows to look at again at their iterations."""
        self.waiting += len(times)
        for time in np.unique(times).tolist():
            self._again.setdefault(time, []).append(words[:, times == time])
            heapq.heappush(self._times, time)

    def first(self) -> int | None:
        """Return the least iteration with an entry."""
        while self._times and self._times[0] not in self._changes and self._times[0] not in self._again:
            heapq.heappop(self._times)
        return self._times[0] if self._times else None

    def width(self, time: int) -> int:
        """Return the number of entries of one iteration."""
        changed = self._changes[time].size if time in self._changes else 0
        return changed + sum(int(words.shape[1]) for words in self._again.get(time, ()))

    def drain(self) -> Iterator[tuple[int, Words, Weights]]:
        """Remove and yield all entries, by iteration. Rows to look at again have weight zero."""
        for time, batch in self._changes.items():
            for words, weights in batch.parts():
                yield time, words, weights if weights.size else np.ones(words.shape[1], np.int64)
        for time, parts in self._again.items():
            for words in parts:
                yield time, words, np.zeros(words.shape[1], np.int64)
        self._changes, self._again, self._times, self.waiting = {}, {}, [], 0

    def after(self, time: int) -> Iterator[tuple[int, Candidates]]:
        """Yield the summed changes of each iteration after `time`."""
        for later in sorted(t for t in self._changes if t > time):
            if (total := self._changes[later].total()) is not None:
                yield later, total

    def take(self, time: int) -> Candidates | None:
        """Remove the entries of one iteration, and return its distinct rows with the sums of their changes."""
        self.waiting -= self.width(time)
        batch = self._changes.pop(time, None)
        again = self._again.pop(time, [])
        total = batch.total() if batch is not None else None
        if not again or total is None:
            return consolidate(np.concatenate(again, axis=1), _zeros(again), keep_zeros=True) if again else total
        words = np.concatenate([*again, total[0]], axis=1)
        return consolidate(words, np.concatenate([_zeros(again), total[1]]), keep_zeros=True)


class PendingQueue:
    """The entries of all relations of a recursion; `levels` are the relations that share a round."""

    def __init__(self, levels: Sequence[Sequence[str]], large: int = DEFAULTS.large) -> None:
        self._levels = levels
        self._level_of = {name: level for level, names in enumerate(levels) for name in names}
        self._rows = {name: PendingRows(large) for name in self._level_of}

    def of(self, name: str) -> PendingRows:
        """Return the entries of a relation."""
        return self._rows[name]

    def names(self, now: RoundId) -> Sequence[str]:
        """Return the relations of a round."""
        return self._levels[now.level]

    def first(self) -> RoundId | None:
        """Return the least round with an entry."""
        times = ((rows.first(), self._level_of[name]) for name, rows in self._rows.items())
        return min((RoundId(time, level) for time, level in times if time is not None), default=None)

    @property
    def waiting(self) -> int:
        """Return the number of entries. A row that several parts of a batch derived counts once for each."""
        return sum(rows.waiting for rows in self._rows.values())

    def width(self, now: RoundId) -> int:
        """Return the largest number of entries of a relation in a round."""
        return max(self._rows[name].width(now.iteration) for name in self.names(now))

    def take(self, now: RoundId) -> dict[str, Candidates]:
        """Remove and return the entries of a round, by relation."""
        taken = ((name, self._rows[name].take(now.iteration)) for name in self.names(now))
        return {name: rows for name, rows in taken if rows is not None}

    def repack(self, name: str, repacked: Callable[[Run], Run]) -> None:
        """Repack the entries of a relation."""
        rows = self._rows[name]
        for time, words, weights in list(rows.drain()):
            moved = repacked(Run(words, weights=weights))
            self._put(rows, moved.words, moved.all_weights(), np.full(len(moved), time, np.int32))

    def to_heap(self, width: int) -> Heap:
        """Move all entries into a heap for compiled code, see `kernels.heap`, whose rows have `width` words."""
        entries = [(np.empty(0, np.int64), np.empty((0, width), np.uint64), np.empty(0, np.int64))]
        for number, rows in enumerate(self._rows.values()):
            for time, words, change in rows.drain():
                padded = np.zeros((len(change), width), np.uint64)
                padded[:, : len(words)] = words.T
                entries.append((np.full(len(change), (time << RELATION_BITS) + number, np.int64), padded, change))
        keys, padded, change = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
        order = np.argsort(keys)  # an ordered array is a heap
        return Heap(keys[order], padded[order], change[order], np.array([len(order)]))

    def from_heap(self, heap: Heap, widths: Sequence[int]) -> None:
        """Take all entries back from a heap; the rows of relation i have `widths[i]` words."""
        size = heap.size[0]
        keys, padded, change = heap.keys[:size], heap.rows[:size], heap.weights[:size]
        numbers = keys & ((1 << RELATION_BITS) - 1)
        for number, (rows, width) in enumerate(zip(self._rows.values(), widths, strict=True)):
            mine = np.flatnonzero(numbers == number)
            if len(mine):
                times = (keys[mine] >> RELATION_BITS).astype(np.int32)
                self._put(rows, np.ascontiguousarray(padded[mine, :width].T), change[mine], times)

    def _put(self, rows: PendingRows, words: Words, change: Weights, times: Times) -> None:
        """Add entries, each at its own iteration."""
        changed = change != 0
        if changed.any():
            rows.derive(Derivations(words[:, changed], times[changed], change[changed]), 0)
        if not changed.all():
            rows.reconsider(words[:, ~changed], times[~changed])


def _zeros(parts: list[Words]) -> Weights:
    return np.zeros(sum(words.shape[1] for words in parts), np.int64)
