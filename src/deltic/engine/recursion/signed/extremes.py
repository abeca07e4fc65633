"""The least and greatest values of groups by iteration, and the number of distinct values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.engine.accumulators.slots import Columns, Totals
from deltic.engine.kernels.running import nearest_values, weights_of_values
from deltic.engine.operators.groups import GroupedRows
from deltic.engine.operators.totals import GroupTotals
from deltic.engine.operators.values import OF_64_BITS
from deltic.engine.recursion.signed.reading import HistoryGroups, Ints
from deltic.engine.storage.arrangement import descriptors
from deltic.engine.storage.columns import Raw
from deltic.engine.storage.interner import is_labelled
from deltic.engine.storage.run import Words, are_new

IN_ORDER = ("min", "max", "count_distinct")
"""The accumulators that are computed from the present values in order."""


def is_in_order(columns: Columns, groups: GroupTotals) -> bool:
    """Return whether the values of these columns compare as their offsets do, in any domain of theirs; not for keys."""
    if len(columns) > 1 or columns[0] < groups.keys:
        return False
    column = groups.source.relation.schema.columns[columns[0]]
    return not is_labelled(column.type) and not (column.nullable and column.type.kind in OF_64_BITS)


class ValuesByIteration:
    """The values of one column of groups, in order: the rows of the source as (keys, value, other columns)."""

    def __init__(self, columns: Columns, groups: GroupTotals) -> None:
        (self.column,) = self.columns = columns
        self.keys, self.source, self.slots = groups.keys, groups.source, groups.slots.ordered[columns]
        self.groups = HistoryGroups(groups.source, (*range(groups.keys), self.column))

    def change(self, keys: Sequence[Raw], rows: GroupedRows, new: Totals, now: int) -> int:
        """Update the slots about the values by changed rows. Return the number of entries visited."""
        if not len(rows.weights):
            return 0
        of_each, values = rows.group_of_each, rows.columns[self.column]
        order = np.lexsort((values, of_each))
        of_each, values = of_each[order], values[order]
        first = are_new((of_each, values))
        of_each, values = of_each[first], values[first]
        words = self._probe([key[of_each] for key in keys], values)
        layout, runs = self.groups.arrangement.layout, descriptors(self.groups.arrangement.runs)
        before, after, visited = weights_of_values(words, layout.mask(self.keys + 1), now, runs)
        is_there, starts = after > 0, np.flatnonzero(np.diff(of_each, prepend=-1))
        groups, present = of_each[starts], self.slots.present
        had = new[groups, present] > 0
        new[groups, present] += np.add.reduceat(is_there.astype(np.int64) - (before > 0), starts)
        has = new[groups, present] > 0
        for forward, slot in self.slots.extremes.items():
            better, worst = (np.minimum, np.uint64(2**64 - 1)) if forward else (np.maximum, np.uint64(0))
            touched = better.reduceat(np.where(is_there, values, worst), starts)
            domain = self.source.domains[self.column]
            past = domain.encode(new[groups, slot])
            lengths = np.diff(starts, append=len(values))
            gone = had & np.logical_or.reduceat((values == np.repeat(past, lengths)) & ~is_there, starts)
            result = np.where(had & ~gone, better(past, touched), touched)
            if gone.any():
                probes = self._probe([key[groups[gone]] for key in keys], past[gone])
                some, nearest, more = self._walk(probes, forward, now)
                result[gone] = better(touched[gone], np.where(some > 0, nearest, worst))
                visited += more
            new[groups, slot] = np.where(has, domain.decode(result), 0)
        return int(visited)

    def _probe(self, keys: Sequence[Raw], values: Raw) -> Words:
        """Return the least possible rows with these values."""
        layout, zeros = self.groups.arrangement.layout, np.zeros(len(values), np.uint64)
        others = [zeros] * (len(self.source.domains) - self.keys - 1)
        return layout.pack([*keys, values, *others], len(values))

    def _walk(self, words: Words, forward: bool, now: int) -> tuple[Ints, Raw, int]:
        """Return the nearest values beyond those that are gone, 1 where there is one, and the number of entries
        visited.
        """
        layout, runs = self.groups.arrangement.layout, descriptors(self.groups.arrangement.runs)
        group, place = layout.mask(self.keys), np.array(layout.places[self.keys].found)
        first = np.uint64(self.source.domains[self.column].nullable)
        until = np.array([now, int(forward)], np.int64)
        some, values, visited = nearest_values(words, group, place, first, until, runs)
        return some, values, int(visited)
