"""Aggregates of groups in signed recursions: totals by iteration, so that no group is read as a whole.

A group's stored state are its totals at each iteration at which they change, and its rows by iteration and, for a least
or greatest value, by value. The totals at an iteration are those before it plus the changes there. If an extreme value
disappears, the search for the next one starts from it. The target has the results by iteration. So an examination
reads the entries of a group at one iteration, however many it has at others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.engine.accumulators.slots import ROWS, NoResult, Totals
from deltic.engine.kernels.groups import read_totals
from deltic.engine.kernels.running import last_records
from deltic.engine.operators.groups import GroupedRows, starts_of_groups
from deltic.engine.operators.query import Environment
from deltic.engine.operators.totals import GroupTotals
from deltic.engine.operators.walks import last_column
from deltic.engine.recursion.signed.examination import Examination, ExaminationResult
from deltic.engine.recursion.signed.extremes import IN_ORDER, ValuesByIteration, is_in_order
from deltic.engine.recursion.signed.reading import ByIteration, GroupEntries, HistoryGroups, iterations
from deltic.engine.storage.arrangement import descriptors
from deltic.engine.storage.columns import Domain, Raw
from deltic.engine.storage.run import Run, Words, add_runs, consolidate
from deltic.engine.storage.state import State
from deltic.program.histories import Examined
from deltic.program.operators.aggregate import Grouped, GroupedAggregate
from deltic.values.types import Type


class RunningGroups(Examination):
    """Aggregates that can be computed from totals and from ordered values."""

    def __init__(self, definition: Examined, source: State, target: State, environment: Environment) -> None:
        super().__init__(definition, source, target, environment)
        assert isinstance(definition.function, Grouped)
        self.groups = GroupTotals(definition.function, source, target, environment)
        self.slots, keys = self.groups.slots, range(self.groups.keys)
        self.by_iteration = self.entries, self.past = ByIteration(source, keys), ByIteration(target, keys)
        slot = Domain(Type.INT64, 0, max(1, self.slots.width.bit_length()), empty=False)
        self.totals = target.keep("totals", tuple(keys), (*source.domains[: self.groups.keys], iterations(), slot))
        self.values = [ValuesByIteration(columns, self.groups) for columns in self.slots.ordered]
        self.read = (HistoryGroups(source, keys), *(values.groups for values in self.values))

    def examine(self, words: Words, change: Run, now: int) -> ExaminationResult:
        keys = self._keys(words)
        entries = self.entries.entries(keys, now)
        totals, visited = self._before(keys, now)
        self.environment.visits.rows += len(entries) + visited
        new = self._after(keys, entries, totals, now)
        self._keep(keys, now, totals, new)
        moved = self._moved(keys, totals, new, now)
        following = self.entries.following(keys, now) if self.drift.runs else np.full(len(totals), -1)
        again, probes = following >= 0, self.source.layout.pack(self._padded(keys), len(totals))
        if again.any():
            again &= self.read[0].changed(probes, self.drift.runs)
        return ExaminationResult(moved, probes[:, again], following[again].astype(np.int32))

    def _keys(self, words: Words) -> list[Raw]:
        """Return the keys of the groups of some sorted rows. Without keys there is one group."""
        columns = [self.source.layout.column(words, c) for c in range(self.groups.keys)]
        starts = starts_of_groups(columns)
        return [column[starts] for column in columns]

    def _padded(self, keys: Sequence[Raw]) -> list[Raw]:
        """Return the columns of the least possible row of each group."""
        zeros = np.zeros(_count(keys), np.uint64)
        return [*keys, *[zeros] * (len(self.source.domains) - len(keys))]

    def _before(self, keys: Sequence[Raw], now: int) -> tuple[Totals, int]:
        """Return the totals of groups before an iteration, and the number of entries visited."""
        layout, runs = self.totals.layout, descriptors(self.totals.runs)
        group, time = layout.mask(self.groups.keys), np.array(layout.places[self.groups.keys].found)
        words, width = self._record(keys, now), self.slots.width
        result, visited = last_records(words, group, time, last_column(self.totals), runs, width + 1)
        return np.ascontiguousarray(result[:, :width]), int(visited)

    def _record(self, keys: Sequence[Raw], now: int) -> Words:
        """Return the first row that stores the totals of each group from an iteration on."""
        count = _count(keys)
        times, slots = np.full(count, now, np.uint64), np.zeros(count, np.uint64)
        return self.totals.layout.pack([*keys, times, slots], count)

    def _after(self, keys: Sequence[Raw], entries: GroupEntries, totals: Totals, now: int) -> Totals:
        """Return the totals of groups at an iteration, from those before it and the changes there."""
        order = np.argsort(entries.groups, kind="stable")
        groups, columns = entries.groups[order], self.entries.rows(entries.words[:, order])
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        rows = GroupedRows(columns, entries.weights[order], starts, groups[starts])
        change = np.zeros_like(totals)
        self.groups.add_linear(rows, totals, change)
        new = totals + change
        for values in self.values:
            self.environment.visits.rows += values.change(keys, self.groups.defined(values.columns, rows), new, now)
        return new

    def _keep(self, keys: Sequence[Raw], now: int, totals: Totals, new: Totals) -> None:
        """Store totals from this iteration on if they differ from those before it."""
        width, runs = self.slots.width, descriptors(self.totals.runs)
        kept, visited = read_totals(self._record(keys, now), last_column(self.totals), runs, width + 1)
        self.environment.visits.rows += int(visited)
        differs = (totals != new).any(axis=1)
        record = np.column_stack([new, np.ones(len(new), np.int64)]) * differs[:, None]
        change = record - kept
        groups, slots = np.nonzero(change)
        times = np.full(len(groups), now, np.int32)
        raws = [*(key[groups] for key in keys), times.astype(np.uint64), slots.astype(np.uint64)]
        words = self.totals.layout.pack(raws, len(groups))
        self.totals.runs = add_runs(self.totals.runs, Run(words, times, change[groups, slots]))

    def _moved(self, keys: Sequence[Raw], totals: Totals, new: Totals, now: int) -> Run:
        """Return the change of the target: its new rows less those before, less its entries at this iteration."""
        past = self.past.entries(keys, now + self.definition.delay)
        self.environment.visits.rows += len(past)
        target, there = self.target.layout, self.past.rows(past.words)
        words, weights = [target.pack(there, len(past))], [-past.weights]
        try:
            for result, sign in ((totals, -1), (new, 1)):
                some = np.flatnonzero(result[:, ROWS] > 0)
                packed = np.array(keys, np.uint64).reshape(len(keys), len(result))
                words.append(self.groups.rows(packed, some, self.groups.slots.read(result), some))
                weights.append(np.full(len(some), sign))
        except NoResult as missing:
            self.groups.report(missing, keys)
        moved, sums = consolidate(np.concatenate(words, axis=1), np.concatenate(weights))
        return Run(moved, weights=sums)


def _count(keys: Sequence[Raw]) -> int:
    """Return the number of groups with these keys."""
    return len(keys[0]) if keys else 1


def is_running(groups: GroupTotals, call: GroupedAggregate) -> bool:
    """Return whether an aggregate can be computed from totals and from values in their stored order."""
    like = ACCUMULATORS[call.function].like
    if like in IN_ORDER:
        return is_in_order(call.columns, groups)
    ordered = groups.slots.ordered.values()
    return like not in ("min_by", "max_by") and not any(call in o.wholes or call in o.ranks for o in ordered)
