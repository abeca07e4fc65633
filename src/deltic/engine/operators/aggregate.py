"""Aggregates: each epoch reads only the groups of changed rows, and the state of these groups.

A group's state are *totals*, one weight for each slot: the number of its rows, sums modulo 2⁶⁴, sums of exact digits,
and, for columns whose values are stored in order, results of these: their number, the least value, the median.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deltic.engine.accumulators.slots import NoResult
from deltic.engine.kernels.groups import read_totals
from deltic.engine.kernels.packing import groups_of
from deltic.engine.kernels.totals import entries_of, moved_groups
from deltic.engine.operators.groups import GroupedRows, Positions
from deltic.engine.operators.kernel import RelationUpdater, kernel_of
from deltic.engine.operators.query import Environment
from deltic.engine.operators.totals import GroupTotals
from deltic.engine.operators.values import Values
from deltic.engine.operators.walks import last_column, near_groups
from deltic.engine.storage.arrangement import descriptors
from deltic.engine.storage.batch import CountChanges
from deltic.engine.storage.columns import Domain
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
        source, stored = self.source.layout, self.totals.layout
        columns, starts, probe = groups_of(delta.words, source.table, self.keys, stored.table, stored.words)
        moved, weights = CountChanges(), delta.all_weights()
        for first in range(0, len(starts), self._at_once):
            some = slice(first, first + self._at_once)
            start, *after = starts[first :: self._at_once][:2].tolist()
            rows = slice(start, after[0] if after else len(delta))
            moved.add(*self._some_groups(columns[:, rows], weights[rows], starts[some] - start, probe[:, some]))
        for values in self.values:
            values.sweep()
        self.visits.rows += len(delta)
        return moved.run()

    def _some_groups(self, columns: Words, weights: Weights, starts: Positions, probe: Words) -> tuple[Words, Weights]:
        """Return the rows that some groups lose and gain, with their signs. `probe` has the row (key, 0) of each."""
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
            results = self.slots.read(both)
        except NoResult as missing:
            self.report(missing, columns[: self.keys, np.concatenate([starts, starts])])
            return self.target.layout.no_rows()
        at, signs = moved_groups(both, results.addresses)
        return self.rows(columns[: self.keys], starts[at % len(starts)], results, at), signs
