"""Reads the entries of groups in the histories of a relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.histories import ranges
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.run import Run, Weights, Words, consolidate, plain
from deltic.engine.storage.state import State

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Entries:
    """Rows of groups with the changes of their weights, each at its iteration, and the number of its group."""

    groups: Positions
    words: Words
    times: Positions
    weights: Weights

    def __len__(self) -> int:
        return len(self.groups)

    def until(self, now: int) -> Entries:
        """Return the rows at an iteration: distinct, in order, with nonzero weights."""
        past = self.times <= now
        return Entries(self.groups[past], self.words[:, past], self.times[past], self.weights[past]).summed()

    def summed(self) -> Entries:
        """Return the distinct rows, in order, with their nonzero weights over all iterations."""
        if not len(self):
            return self
        order = np.lexsort(self.words[::-1])
        words, groups = self.words[:, order], self.groups[order]
        first = np.ones(len(order), bool)
        first[1:] = (words[:, 1:] != words[:, :-1]).any(axis=0)
        starts = np.flatnonzero(first)
        sums = np.add.reduceat(self.weights[order], starts)
        kept = starts[sums != 0]
        return Entries(groups[kept], words[:, kept], np.zeros(len(kept), np.int64), sums[sums != 0])

    def next(self, now: int, count: int) -> Positions:
        """Return the next iteration at which each of `count` groups has an entry, −1 if there is none."""
        never = np.iinfo(np.int64).max
        later = self.times > now
        result = np.full(count, never)
        np.minimum.at(result, self.groups[later], self.times[later])
        return np.where(result == never, -1, result)


def entries_at(runs: Sequence[Run], ranges: Positions, width: int) -> Entries:
    """Return the entries of groups in these ranges int64[runs, groups, 2] of runs whose rows have `width` words."""
    none = np.empty(0, np.int64)
    parts = [(none, np.empty((width, 0), np.uint64), none, none)]
    parts += [_part(run, *where.T) for run, where in zip(runs, ranges, strict=True)]
    of, words, times, weights = zip(*parts, strict=True)
    return Entries(np.concatenate(of), np.concatenate(words, axis=1), np.concatenate(times), np.concatenate(weights))


def _part(run: Run, first: Positions, end: Positions) -> tuple[Positions, Words, Positions, Weights]:
    lengths = end - first
    at = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    times = run.times[at].astype(np.int64) if run.times.size else np.zeros(len(at), np.int64)
    weights = run.weights[at].astype(np.int64) if run.weights.size else np.ones(len(at), np.int64)
    return np.repeat(np.arange(len(first)), lengths), run.words[:, at], times, weights


class HistoryGroups:
    """The groups of a relation by some of its columns, which come first in the order in which it is read."""

    def __init__(self, state: State, keys: Sequence[int]) -> None:
        self.state, self.keys = state, len(keys)
        self.order = (*keys, *(c for c in state.canonical if c not in keys))
        self._arrangement = state.declare(self.order)

    def build(self) -> None:
        """Build the order."""
        self.state.arrangement(self.order)

    @property
    def arrangement(self) -> Arrangement:
        """The relation in this order."""
        return self._arrangement

    def arranged(self, run: Run) -> Run:
        """Return a run of the relation in this order."""
        return self.state.arranged(run, self.order)

    def groups(self, words: Words) -> Words:
        """Return the distinct groups of rows, packed in this order and sorted, with zeros after the key."""
        raws = self.state.layout.unpack(words)
        return self._packed([raws[c] for c in self.order[: self.keys]], words.shape[1])

    def groups_like(self, other: HistoryGroups, groups: Words) -> Words:
        """Return the groups of another relation with the same keys, packed in this order."""
        raws = other.arrangement.layout.unpack(groups)
        return self._packed(raws[: self.keys], groups.shape[1])

    def _packed(self, keys: Sequence[npt.NDArray[np.uint64]], count: int) -> Words:
        rest = [np.zeros(count, np.uint64)] * (len(self.order) - self.keys)
        packed = self.arrangement.layout.pack([*keys, *rest], count)
        return consolidate(packed, np.zeros(count, np.int64), keep_zeros=True)[0]

    def entries(self, groups: Words, runs: Sequence[Run] | None = None) -> Entries:
        """Return the entries of the groups, in this relation or in other runs in its order."""
        runs = self.arrangement.runs if runs is None else runs
        count = groups.shape[1]
        result = ranges(groups, groups | self._rest()[:, None], descriptors(runs)).reshape(len(runs), count, 2)
        return entries_at(runs, result, len(groups))

    def _rest(self) -> npt.NDArray[np.uint64]:
        """Return the mask of all columns after the key."""
        layout = self.arrangement.layout
        masks = [np.array([p.mask % (1 << 64)], np.uint64) for p in layout.places[self.keys :]]
        return layout.pack([*[np.zeros(1, np.uint64)] * self.keys, *masks], 1)[:, 0]

    def canonical(self, words: Words, weights: Weights) -> Run:
        """Return rows of this order, with weights, in canonical order."""
        if self.order == self.state.canonical and self.arrangement.layout is self.state.layout:
            return Run(words, weights=plain(weights))
        raws = dict(zip(self.order, self.arrangement.layout.unpack(words), strict=True))
        packed = self.state.layout.pack([raws[c] for c in self.state.canonical], words.shape[1])
        rows, sums = consolidate(packed, weights, keep_zeros=True)
        return Run(rows, weights=plain(sums))
