"""Positions in the ordered values of groups, which move from rank to rank by walks over the entries between."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deltic.engine.kernels.groups import next_present
from deltic.engine.operators.extremes import TouchedValues, last_column, near_groups
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.layout import Raw

Positions = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]


class RankPlaces:
    """A position for each changed group: the offset of a value, and the number of rows with smaller values.

    `visited` counts the entries visited.
    """

    def __init__(self, store: Arrangement, changed: TouchedValues, offsets: Raw, before: Counts) -> None:
        self.store, self.changed = store, changed
        self.offsets, self.before, self.visited = offsets, before, 0

    def move(self, groups: Positions, ranks: Counts) -> Raw:
        """Move the positions of some groups to the rows of these existing ranks. Return the values there."""
        ahead = ranks >= self.before[groups]
        for forward in (True, False):
            chosen = ahead == forward
            if chosen.any():
                self._walk(groups[chosen], ranks[chosen], forward)
        return self.offsets[groups]

    def _walk(self, groups: Positions, ranks: Counts, forward: bool) -> None:
        """Move positions in one direction: upward from the value itself, downward from below it."""
        mask, before = last_column(self.store), self.before[groups]
        probe = self.changed.words[:, self.changed.starts[groups]]
        probe[-1] = (probe[-1] & ~mask) | (self.offsets[groups] - np.uint64(not forward))
        skips = ranks - before if forward else before - 1 - ranks
        unbounded = np.zeros(len(groups), np.uint64)
        runs = near_groups(self.store, probe)
        result, weights, met, visited = next_present(
            probe, skips, unbounded, unbounded, mask, int(forward), descriptors(runs)
        )
        self.offsets[groups] = result
        self.before[groups] = before + met if forward else before - met - weights
        self.visited += int(visited)
