"""Walks over the ordered values of groups: to the least and greatest ones after a change, and from rank to rank.

Values are stored in order, text by its labels. So if the least one vanishes, the next is the nearest above it.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.groups import next_present
from deltic.engine.operators.groups import Mask, Positions
from deltic.engine.storage.arrangement import Arrangement, descriptors
from deltic.engine.storage.columns import Raw
from deltic.engine.storage.run import Run, Words, near


class TouchedValues:
    """The values of one column that an epoch changed, by group; `alive` says which are present now."""

    def __init__(self, words: Words, values: Raw, starts: Positions, alive: Mask) -> None:
        self.words, self.values, self.starts, self.alive = words, values, starts, alive
        self.groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))

    def extreme(self, store: Arrangement, forward: bool, past: Raw, had: Mask) -> tuple[Raw, int]:
        """Return the least (forward) or greatest value of each nonempty group, and the number of entries visited.

        `past` is the previous extreme where the group `had` one. Unchanged values are not beyond it.
        """
        better, worst = (np.minimum, np.uint64(2**64 - 1)) if forward else (np.maximum, np.uint64(0))
        touched = better.reduceat(np.where(self.alive, self.values, worst), self.starts)
        some = np.logical_or.reduceat(self.alive, self.starts)
        gone = had & self._vanished(past)
        result = np.where(had & ~gone, np.where(some, better(past, touched), past), touched)
        walk = np.flatnonzero(gone)
        if not len(walk):
            return result, 0
        mask = last_column(store)
        probe = self.words[:, self.starts[walk]]
        probe[-1] = (probe[-1] & ~mask) | past[walk]
        bounds, bounded = touched[walk], some[walk].astype(np.uint64)
        skips, runs = np.zeros(len(walk), np.int64), near_groups(store, probe)
        nearest, weights, _, visited = next_present(
            probe, skips, bounds, bounded, mask, int(forward), descriptors(runs)
        )
        result[walk] = np.where(weights > 0, nearest, bounds)
        return result, int(visited)

    def below(self, bounds: Raw, numbers: Positions) -> Positions:
        """Return, for each group, the sum of the numbers of those values that are below its bound."""
        result: Positions = np.add.reduceat(np.where(self.values < bounds[self.groups], numbers, 0), self.starts)
        return result

    def _vanished(self, past: Raw) -> Mask:
        """Return where the previous extreme value is changed and no longer present."""
        vanished: Mask = np.logical_or.reduceat((self.values == past[self.groups]) & ~self.alive, self.starts)
        return vanished


class RankPlaces:
    """A position for each changed group: the offset of a value, and the number of rows with smaller values.

    `visited` counts the entries visited.
    """

    def __init__(self, store: Arrangement, changed: TouchedValues, offsets: Raw, before: Positions) -> None:
        self.store, self.changed = store, changed
        self.offsets, self.before, self.visited = offsets, before, 0

    def move(self, groups: Positions, ranks: Positions) -> Raw:
        """Move the positions of some groups to the rows of these existing ranks. Return the values there."""
        ahead = ranks >= self.before[groups]
        for forward in (True, False):
            chosen = ahead == forward
            if chosen.any():
                self._walk(groups[chosen], ranks[chosen], forward)
        return self.offsets[groups]

    def _walk(self, groups: Positions, ranks: Positions, forward: bool) -> None:
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


def near_groups(arrangement: Arrangement, rows: Words) -> tuple[Run, ...]:
    """Return the runs of groups and their values; of far runs, the parts with the groups of these rows: see `near`."""
    values = last_column(arrangement) if len(rows) == 1 else np.uint64(0)
    return near(arrangement.runs, rows[0] & ~values, rows[0] | values)


def last_column(arrangement: Arrangement) -> np.uint64:
    """Return the mask of the last column, which has the low bits of the last word."""
    place = arrangement.layout.places[-1]
    assert (place.shift, place.word) == (0, arrangement.layout.words - 1)
    return np.uint64(place.mask % (1 << 64))
