"""The rows of a history by group and iteration: the changes of a group at one iteration are adjacent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.histories import ranges
from deltic.engine.kernels.running import next_iterations
from deltic.engine.recursion.signed.reading import Entries, entries_at
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.layout import Domain, Layout, Place, Raw
from deltic.engine.storage.run import Run, Words, add_runs, sort_order
from deltic.engine.storage.state import State
from deltic.values.types import Type

Words1 = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]


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

    def entries(self, keys: Sequence[Raw], now: int) -> Entries:
        """Return the changes of some sorted groups at an iteration."""
        runs, words = self.arrangement.runs, self.probe(keys, now)
        rest = ~mask_of(self.layout, len(self.keys) + 1)
        result = ranges(words, words | rest[:, None], descriptors(runs)).reshape(len(runs), words.shape[1], 2)
        return entries_at(runs, result, len(words))

    def following(self, keys: Sequence[Raw], now: int) -> Ints:
        """Return the next iteration at which each group has an entry, −1 if there is none."""
        words, group = self.probe(keys, now + 1), mask_of(self.layout, len(self.keys))
        result: Ints = next_iterations(words, group, place_of(self.time), descriptors(self.arrangement.runs))
        return result

    def rows(self, words: Words) -> list[Raw]:
        """Return the columns of rows that are in this order, in the relation's declared order."""
        raws = self.layout.unpack(words)
        result = dict(zip((*self.keys, -1, *self.others), raws, strict=True))
        return [result[c] for c in self.state.canonical]


def mask_of(layout: Layout, columns: int) -> Words1:
    """Return the mask of the first columns in each word of a row."""
    mask = np.zeros(layout.words, np.uint64)
    for place in layout.places[:columns]:
        mask[place.word] |= np.uint64((place.mask % (1 << 64)) << place.shift)
    return mask


def place_of(place: Place) -> Ints:
    """Return a place as kernels take it, see `kernels.running`."""
    return np.array([place.word, place.shift, place.mask], np.int64)
