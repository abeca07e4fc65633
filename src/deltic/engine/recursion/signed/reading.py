"""Reads the entries of groups in the histories of a relation: those of all iterations, or of one.

Beside the orders of a relation, its rows are stored by group and iteration, so that the changes of a group at one
iteration are adjacent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.histories import ranges
from deltic.engine.kernels.running import next_iterations
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.columns import Domain, Place, Raw
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import Run, Weights, Words, add_runs, are_new, consolidate, ranges_of, sort_order
from deltic.engine.storage.state import State
from deltic.values.types import Type

Words1 = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GroupEntries:
    """Rows of groups with the changes of their weights, each at its iteration, and the number of its group."""

    groups: Ints
    words: Words
    times: Ints
    weights: Weights

    def __len__(self) -> int:
        return len(self.groups)

    def until(self, now: int) -> GroupEntries:
        """Return the rows at an iteration: distinct, in order, with nonzero weights."""
        past = self.times <= now
        return GroupEntries(self.groups[past], self.words[:, past], self.times[past], self.weights[past]).summed()

    def summed(self) -> GroupEntries:
        """Return the distinct rows, in order, with their nonzero weights over all iterations."""
        if not len(self):
            return self
        order = np.lexsort(self.words[::-1])
        words, groups = self.words[:, order], self.groups[order]
        starts = np.flatnonzero(are_new(words))
        sums = np.add.reduceat(self.weights[order], starts)
        kept = starts[sums != 0]
        return GroupEntries(groups[kept], words[:, kept], np.zeros(len(kept), np.int64), sums[sums != 0])

    def next(self, now: int, count: int) -> Ints:
        """Return the next iteration at which each of `count` groups has an entry, −1 if there is none."""
        never = np.iinfo(np.int64).max
        later = self.times > now
        result = np.full(count, never)
        np.minimum.at(result, self.groups[later], self.times[later])
        return np.where(result == never, -1, result)


def _entries(runs: Sequence[Run], least: Words, same: Words1) -> GroupEntries:
    """Return the entries that agree, in the bits of the mask `same`, with the least possible row of each group."""
    where = ranges(least, least | ~same[:, None], descriptors(runs)).reshape(len(runs), least.shape[1], 2)
    none = np.empty(0, np.int64)
    parts = [(none, np.empty((len(least), 0), np.uint64), none, none)]
    parts += [_part(run, *each.T) for run, each in zip(runs, where, strict=True)]
    of, words, times, weights = zip(*parts, strict=True)
    return GroupEntries(
        np.concatenate(of), np.concatenate(words, axis=1), np.concatenate(times), np.concatenate(weights)
    )


def _part(run: Run, first: Ints, end: Ints) -> tuple[Ints, Words, Ints, Weights]:
    at = ranges_of(first, lengths := end - first)
    times = run.times[at].astype(np.int64) if run.times.size else np.zeros(len(at), np.int64)
    weights = run.weights[at].astype(np.int64) if run.weights.size else np.ones(len(at), np.int64)
    return np.repeat(np.arange(len(first)), lengths), run.words[:, at], times, weights


class HistoryGroups:
    """The groups of a relation by some of its columns, which come first in the order in which it is read."""

    def __init__(self, state: State, keys: Sequence[int]) -> None:
        self.state, self.keys = state, len(keys)
        self.order = (*keys, *(c for c in state.canonical if c not in keys))
        self.arrangement = state.declare(self.order)
        """The relation in this order."""

    def build(self) -> None:
        """Build the order."""
        self.state.arrangement(self.order)

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

    def _packed(self, keys: Sequence[Raw], count: int) -> Words:
        rest = [np.zeros(count, np.uint64)] * (len(self.order) - self.keys)
        packed = self.arrangement.layout.pack([*keys, *rest], count)
        return consolidate(packed, np.zeros(count, np.int64), keep_zeros=True)[0]

    def entries(self, groups: Words, runs: Sequence[Run] | None = None) -> GroupEntries:
        """Return the entries of the groups, in this relation or in other runs in its order."""
        runs = self.arrangement.runs if runs is None else runs
        return _entries(runs, groups, self.arrangement.layout.mask(self.keys))

    def changed(self, groups: Words, runs: Sequence[Run]) -> npt.NDArray[np.bool_]:
        """Return the mask of the groups whose changes in these runs do not sum to zero."""
        left = self.entries(groups, runs).summed()
        return np.bincount(left.groups, minlength=groups.shape[1]) > 0

    def canonical(self, words: Words, weights: Weights) -> Run:
        """Return rows of this order, with weights, in canonical order."""
        if self.order == self.state.canonical and self.arrangement.layout is self.state.layout:
            return Run(words, weights=weights)
        raws = dict(zip(self.order, self.arrangement.layout.unpack(words), strict=True))
        packed = self.state.layout.pack([raws[c] for c in self.state.canonical], words.shape[1])
        rows, sums = consolidate(packed, weights, keep_zeros=True)
        return Run(rows, weights=sums)


def iterations() -> Domain:
    """Return the domain of a column of iterations."""
    return Domain(Type.INT64, 0, 31, empty=False)


class ByIteration:
    """The rows of `state` as (keys, iteration, other columns), with their times and weights."""

    def __init__(self, state: State, keys: Sequence[int]) -> None:
        self.state, self.keys = state, tuple(keys)
        self.others = tuple(c for c in state.canonical if c not in self.keys)
        domains = state.domains
        columns = (*(domains[c] for c in self.keys), iterations(), *(domains[c] for c in self.others))
        self.arrangement: Arrangement = state.keep("iterations", self.keys, columns)

    @property
    def layout(self) -> Layout:
        """The layout of the rows."""
        return self.arrangement.layout

    @property
    def time(self) -> Place:
        """The place of the iteration."""
        return self.layout.places[len(self.keys)]

    def add(self, change: Run, now: int) -> None:
        """Add a change of the history at one iteration."""
        raws, count = self.state.layout.unpack(change.words), len(change)
        words = self._packed([raws[c] for c in self.keys], now, [raws[c] for c in self.others], count)
        order = sort_order(words)
        weights = change.weights[order] if change.weights.size else change.weights
        self.arrangement.runs = add_runs(self.arrangement.runs, Run(words[:, order], change.times, weights))

    def _packed(self, keys: Sequence[Raw], now: int, others: Sequence[Raw], count: int) -> Words:
        return self.layout.pack([*keys, np.full(count, now, np.uint64), *others], count)

    def probe(self, keys: Sequence[Raw], now: int) -> Words:
        """Return the least possible row of each group at an iteration."""
        count = len(keys[0]) if keys else 1
        return self._packed(keys, now, [np.zeros(count, np.uint64)] * len(self.others), count)

    def entries(self, keys: Sequence[Raw], now: int) -> GroupEntries:
        """Return the changes of some sorted groups at an iteration."""
        return _entries(self.arrangement.runs, self.probe(keys, now), self.layout.mask(len(self.keys) + 1))

    def following(self, keys: Sequence[Raw], now: int) -> Ints:
        """Return the next iteration at which each group has an entry, −1 if there is none."""
        words, group = self.probe(keys, now + 1), self.layout.mask(len(self.keys))
        time, runs = np.array(self.time.found), descriptors(self.arrangement.runs)
        result: Ints = next_iterations(words, group, time, runs)
        return result

    def rows(self, words: Words) -> Words:
        """Return the columns of rows that are in this order, in the relation's declared order."""
        order = (*self.keys, -1, *self.others)
        return self.layout.offsets(words)[[order.index(c) for c in self.state.canonical]]
