"""The least and the greatest values of groups after a change: from what it touched, and from where they were.

Numbers are kept in order, so when the least value vanishes the next is the nearest above it. Strings are numbered in
the order of their appearance: when the first of them vanishes, all of the group's are compared.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deltic.engine.local.kernels.groups import next_present
from deltic.engine.local.storage.arrangement import Arrangement, descriptors
from deltic.engine.local.storage.codec import Interner
from deltic.engine.local.storage.layout import Raw
from deltic.engine.local.storage.run import Words

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Changed:
    """The values of one column that an epoch touched, by group: `alive` says which are there now."""

    def __init__(self, words: Words, values: Raw, starts: Positions, alive: Mask) -> None:
        self.words, self.values, self.starts, self.alive = words, values, starts, alive
        self.groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))

    def extreme(self, store: Arrangement, forward: bool, past: Raw, had: Mask) -> tuple[Raw, int]:
        """The least (forward) or greatest value of each group, where it has any, and the entries looked at.

        `past` is what it was where the group `had` one. What was not touched lies behind it.
        """
        better, worst = (np.minimum, np.uint64(2**64 - 1)) if forward else (np.maximum, np.uint64(0))
        touched = better.reduceat(np.where(self.alive, self.values, worst), self.starts)
        some = np.logical_or.reduceat(self.alive, self.starts)
        gone = had & self._vanished(past)
        found = np.where(had & ~gone, np.where(some, better(past, touched), past), touched)
        walk = np.flatnonzero(gone)
        if not len(walk):
            return found, 0
        mask = last_column(store)
        probe = self.words[:, self.starts[walk]]
        probe[-1] = (probe[-1] & ~mask) | past[walk]
        nearest, is_there, visited = next_present(
            probe, touched[walk], some[walk].astype(np.uint64), mask, int(forward), descriptors(store.runs)
        )
        found[walk] = np.where(is_there > 0, nearest, touched[walk])
        return found, int(visited)

    def extreme_text(
        self, store: Arrangement, forward: bool, past: Raw, had: Mask, interner: Interner
    ) -> tuple[Raw, int]:
        """`extreme` for strings, which are compared by their characters."""
        gone = had & self._vanished(past)
        stays = np.flatnonzero(had & ~gone)
        groups = [self.groups[self.alive], stays]
        values = [self.values[self.alive], past[stays]]
        walk, start, visited = np.flatnonzero(gone), np.zeros(int(gone.sum()), np.uint64), 0
        mask, runs = last_column(store), descriptors(store.runs)
        while len(walk):
            probe = self.words[:, self.starts[walk]]
            probe[-1] = (probe[-1] & ~mask) | start
            nearest, is_there, looked = next_present(probe, start, np.zeros_like(start), mask, 1, runs)
            visited += int(looked)
            groups.append(walk[is_there > 0])
            values.append(nearest[is_there > 0])
            more = (is_there > 0) & (nearest < mask)
            walk, start = walk[more], nearest[more] + np.uint64(1)
        found = np.zeros(len(self.starts), np.uint64)
        where, ids = np.concatenate(groups), np.concatenate(values)
        texts = np.array(interner.decode(ids.view(np.int64)).to_pylist(), dtype=object)
        order = np.lexsort((np.argsort(np.argsort(texts, kind="stable"), kind="stable"), where))
        first = np.flatnonzero(np.diff(where[order], prepend=-1, append=-1) != 0)
        chosen = order[first[:-1]] if forward else order[first[1:] - 1]
        found[where[chosen]] = ids[chosen]
        return found, visited

    def _vanished(self, past: Raw) -> Mask:
        """Where the value that was the extreme one is touched and there no more."""
        vanished: Mask = np.logical_or.reduceat((self.values == past[self.groups]) & ~self.alive, self.starts)
        return vanished


def last_column(arrangement: Arrangement) -> np.uint64:
    """The bits of the last column, the low ones of the last word."""
    place = arrangement.layout.places[-1]
    assert (place.shift, place.word) == (0, arrangement.layout.words - 1)
    return np.uint64(place.mask % (1 << 64))
