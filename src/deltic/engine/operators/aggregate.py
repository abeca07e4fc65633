"""Aggregates: each epoch reads only the groups of changed rows, and the state of these groups.

A group's state are *totals*, one weight for each slot: the number of its rows, sums modulo 2⁶⁴, sums of exact digits,
and, for columns whose values are stored in order, results of these: their number, the least value, the median.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deltic.engine.accumulators.slots import NoResult
from deltic.engine.kernels.groups import read_totals
from deltic.engine.kernels.totals import entries_of, moved_groups
from deltic.engine.operators.extremes import last_column, near_groups
from deltic.engine.operators.groups import GroupedRows, Positions, starts_of_groups
from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.query import Environment
from deltic.engine.operators.totals import GroupTotals
from deltic.engine.operators.values import Values
from deltic.engine.storage.arrangement import descriptors
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.layout import Domain
from deltic.engine.storage.run import Run, Weights, Words, add_runs
from deltic.engine.storage.state import State
from deltic.program.operators.aggregate import Grouped
from deltic.values.types import Type

_AT_ONCE = 1 << 14  # groups that are looked at together
_TOTALS = 1 << 22  # totals that are looked at together


@kernel_of(Grouped)
class Aggregates(GroupTotals, RelationUpdater):
    """The groups of one aggregate relation, stored beside its rows."""

    def __init__(self, grouping: Grouped, states: Mapping[str, State], target: State, environment: Environment) -> None:
        source = states[grouping.source]
        super().__init__(grouping, source, target, environment)
        self.visits = environment.visits
        keys, order = source.domains[: self.keys], tuple(range(self.keys))
        slot = Domain(Type.INT64, 0, max(1, (self.slots.width - 1).bit_length()), empty=False)
        self.totals = target.keep("totals", order, (*keys, slot))
        self.values = [Values(c, self.slots, source, self.keys, target, environment) for c in self.slots.ordered]
        self._at_once = max(1, min(_AT_ONCE, _TOTALS // self.slots.width))

    def change(self) -> Run | None:
        """Return the change of the groups' rows from that of the rows to be grouped, and update the totals."""
        delta = self.source.delta
        assert delta is not None
        columns, weights = self.source.layout.offsets(delta.words), delta.all_weights()
        starts = starts_of_groups(columns[: self.keys])
        ends = [*range(self._at_once, len(starts), self._at_once), len(starts)]
        moved, first, row = CountChanges(), 0, 0
        for end in ends:
            following = int(starts[end]) if end < len(starts) else len(delta)
            some = starts[first:end] - row
            moved.add(*self._some_groups(columns[:, row:following], weights[row:following], some))
            first, row = end, following
        for values in self.values:
            values.sweep()
        self.visits.rows += len(delta)
        return moved.run()

    def _some_groups(self, columns: Words, weights: Weights, starts: Positions) -> tuple[Words, Weights]:
        """Return the rows that some groups lose and gain, with their signs."""
        keys = columns[: self.keys, starts]
        probe = self.totals.layout.pack([*keys, np.zeros(len(starts), np.uint64)], len(starts))
        runs = near_groups(self.totals, probe)
        old, visited = read_totals(probe, last_column(self.totals), descriptors(runs), self.slots.width)
        self.visits.rows += int(visited)
        rows = GroupedRows(columns, weights, starts, np.arange(len(starts)))
        change = np.zeros_like(old)
        self.add_linear(rows, old, change)
        for values in self.values:
            values.change(self.defined(values.columns[:1], rows), old, change)
        words, amounts = entries_of(probe, change)
        self.totals.runs = add_runs(self.totals.runs, Run(words, weights=amounts))
        both = np.concatenate([old, old + change])
        try:
            results = self.results(both)
        except NoResult as missing:
            self.report(missing, np.concatenate([keys, keys], axis=1))
            return self.target.no_rows()
        at, signs = moved_groups(both, results.addresses)
        return self.rows(keys, at % len(starts), results, at), signs
