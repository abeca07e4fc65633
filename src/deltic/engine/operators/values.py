"""The ordered values of some columns in all groups, from which extremes, ranks and whole groups are read.

An arrangement has (key, value) with weights. Values of one column are stored as such, interned ones by their labels;
those of several columns are one struct each, which is interned. Whole groups are collected; extremes and ranks are
found by walks from where they were before a change.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from deltic.circuit.accumulators import ACCUMULATORS
from deltic.circuit.accumulators.own import UserAggregate
from deltic.circuit.accumulators.percentile import Ranked
from deltic.engine.accumulators.slots import Columns, Slots, Totals
from deltic.engine.kernels.histories import ranges
from deltic.engine.kernels.settle import crossings
from deltic.engine.operators.groups import GroupedRows, Mask, Positions, starts_of_groups
from deltic.engine.operators.query import Environment
from deltic.engine.operators.states import States
from deltic.engine.operators.walks import RankPlaces, TouchedValues, last_column, near_groups
from deltic.engine.storage.arrangement import descriptors
from deltic.engine.storage.codec import decode, encode, writer
from deltic.engine.storage.columns import Domain, Raw
from deltic.engine.storage.columns import Values as Held
from deltic.engine.storage.interner import is_labelled
from deltic.engine.storage.run import Run, Words, add_runs, consolidate, merge_runs, ranges_of
from deltic.engine.storage.state import State
from deltic.program.operators.aggregate import GroupedAggregate
from deltic.values import from_arrow
from deltic.values.types import Kind

# Types whose values may use all 64-bit offsets, so that a nullable domain needs one more.
OF_64_BITS = (Kind.INT64, Kind.UINT64, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.DAY_TIME_INTERVAL)
_PATIENCE = 4  # a walk may have met that part of all values before they are swept


class Values:
    """The values of `columns` in the groups by the first `keys` columns of `source`, and the slots they fill."""

    def __init__(
        self, columns: Columns, slots: Slots, source: State, keys: int, target: State, environment: Environment
    ) -> None:
        self.columns, self.source, self.keys = columns, source, keys
        self.type, self.slots = slots.type_of(columns), slots.ordered[columns]
        self._types = [source.relation.schema.columns[c].type for c in columns]
        self.interner, self.visits = environment.interner, environment.visits
        domains = (*source.domains[:keys], self._domain())
        self.store = target.keep("values", (*range(keys), *columns), domains)
        self._walked = 0
        self._partial = {call for call in self.slots.wholes if slots.is_partial(call)}
        owns = ((call, ACCUMULATORS[call.function]) for call in self.slots.wholes)
        self._states = {
            call: States(own) for call, own in owns if isinstance(own, UserAggregate) and own.state is not None
        }

    def change(self, rows: GroupedRows, old: Totals, change: Totals) -> None:
        """Update the values, and add the changes of their slots to the change of the totals."""
        if not len(rows.weights):
            return
        store, runs = self.store, self.store.runs
        packed = store.layout.pack([*rows.columns[: self.keys], self._offsets(self._own(rows))], len(rows.weights))
        words, sums = consolidate(packed, rows.weights, keep_zeros=True)
        *keys, values = store.layout.unpack(words)
        starts = starts_of_groups(keys)
        before = store.weights_of(words)
        moved = sums != 0
        store.runs = add_runs(store.runs, Run(words[:, moved], weights=sums[moved]))
        count = np.add.reduceat(crossings(before, sums), starts)
        change[rows.groups, self.slots.present] = count
        if not (self.slots.extremes or self.slots.ranks or self.slots.wholes):
            return
        past, new = old[rows.groups], change[rows.groups]
        changed = TouchedValues(words, values, starts, before + sums > 0)
        self._extremes(changed, past, new, count)
        gained = np.maximum(before + sums, 0) - np.maximum(before, 0)
        if self.slots.ranks:
            self._ranks(changed, gained, past, new)
        if self.slots.wholes:
            self._wholes(changed, gained, runs, past, new)
        change[rows.groups] = new

    def sweep(self) -> None:
        """Merge all runs if walks have visited many entries: most of these belong to deleted values.

        That costs less than the walks did, and later walks can only meet entries that are deleted after it.
        """
        runs = self.store.runs
        if len(runs) > 1 and self._walked > len(self.store) // _PATIENCE:
            merged = reduce(merge_runs, runs)
            self.store.runs = (merged,) if len(merged) else ()
            self._walked = 0
            for states in self._states.values():
                states.left = self.store.runs if states.left is runs else None

    def _extremes(self, changed: TouchedValues, past: Totals, new: Totals, count: Held) -> None:
        """Compute the extreme values of changed groups."""
        present = self.slots.present
        had, has = past[:, present] > 0, past[:, present] + count > 0
        for forward, slot in self.slots.extremes.items():
            result, visited = changed.extreme(self.store, forward, self._offsets(past[:, slot]), had)
            self._count(visited)
            held = np.zeros(len(past), np.int64)
            held[has] = self._held(result[has])
            new[:, slot] = held - past[:, slot]

    def _ranks(self, changed: TouchedValues, gained: Held, past: Totals, new: Totals) -> None:
        """Compute the values at the ranks of changed groups; `gained` is the increase of each changed value's rows."""
        size = self.slots.size
        new[:, size] = np.add.reduceat(gained, changed.starts)
        had, sizes = past[:, size] > 0, past[:, size] + new[:, size]
        for call, slot in self.slots.ranks.items():
            offsets = np.where(had, self._offsets(past[:, slot + 1]), np.uint64(0))
            before = np.where(had, past[:, slot + 2] + changed.below(offsets, gained), 0)
            places, held = RankPlaces(self.store, changed, offsets, before), np.zeros((len(past), 3), np.int64)
            self._rank(call, places, sizes, held)
            self._count(places.visited)
            new[:, slot : slot + 3] = held - past[:, slot : slot + 3]

    def _rank(self, call: GroupedAggregate, places: RankPlaces, sizes: Held, held: Totals) -> None:
        """Return the result of a call at ranks, the last value that it read, and how many rows have smaller ones."""
        accumulator = ACCUMULATORS[call.function]
        assert isinstance(accumulator, Ranked)
        some = np.flatnonzero(sizes > 0)
        if not len(some):
            return
        counts = sizes[some].tolist()
        ranks = np.array([accumulator.ranks(call.parameters, n) for n in counts], np.int64)
        result = [self._python(self._held(places.move(some, column))) for column in ranks.T]
        held[some, 1], held[some, 2] = self._held(places.offsets[some]), places.before[some]
        write = writer(self.type, self.interner)
        rows = zip(counts, zip(*result, strict=True), strict=True)
        held[some, 0] = [write(accumulator.between(call.parameters, n, values)) for n, values in rows]

    def _wholes(self, changed: TouchedValues, gained: Held, runs: tuple[Run, ...], past: Totals, new: Totals) -> None:
        """Compute results from all values of changed groups; `runs` had all values before the change."""
        groups = self._groups(changed.words, changed.starts) if len(self._states) < len(self.slots.wholes) else []
        there = past[:, self.slots.present] + new[:, self.slots.present] > 0
        for call, slot in self.slots.wholes.items():
            accumulator = ACCUMULATORS[call.function]
            if call in self._states:
                result = self._by_state(call, changed, gained, runs, past[:, self.slots.present] > 0, there)
            else:
                result = [accumulator.value(totals, self._types, call.parameters) for totals in groups]
            write = writer(accumulator.result(self._types), self.interner)
            held = np.array([0 if value is None else write(value) for value in result], np.int64)
            new[:, slot] = held - past[:, slot]
            if call in self._partial:
                nulls = np.array([value is None for value in result], bool) & there
                new[:, slot + 1] = nulls - past[:, slot + 1]

    def _by_state(
        self, call: GroupedAggregate, changed: TouchedValues, gained: Held, runs: tuple[Run, ...], had: Mask, has: Mask
    ) -> list[Any]:
        """Return the results of a call whose state is updated by the changes of values."""
        states, starts = self._states[call], changed.starts
        keys = changed.words[:, starts]
        keys[-1] &= ~last_column(self.store)
        moves = list(zip(self._python(self._held(changed.values)), gained.tolist(), strict=True))
        ends = [*starts[1:].tolist(), len(moves)]
        groups = [
            (keys[:, i].tobytes(), moves[first:end], bool(had[i]), bool(has[i]))
            for i, (first, end) in enumerate(zip(starts.tolist(), ends, strict=True))
        ]
        result = states.results(runs, groups, lambda some: self._groups(changed.words, starts[list(some)]))
        states.left = self.store.runs
        return result

    def _groups(self, words: Words, starts: Positions) -> list[dict[Any, int]]:
        """Return all values, with their weights, of the groups whose changed entries start at these positions."""
        result: list[dict[Any, int]] = [{} for _ in starts]
        groups, values, weights = self._entries(words[:, starts])
        self.visits.rows += len(groups)
        if not len(groups):
            return result
        order = np.lexsort((values, groups))
        groups, values = groups[order], values[order]
        firsts = starts_of_groups([groups.view(np.uint64), values])
        sums = np.add.reduceat(weights[order], firsts)
        there = firsts[sums != 0]
        python = self._python(self._held(values[there]))
        for group, value, weight in zip(groups[there].tolist(), python, sums[sums != 0].tolist(), strict=True):
            result[group][value] = weight
        return result

    def _entries(self, probe: Words) -> tuple[Positions, Raw, Positions]:
        """Return the entries of the groups of these rows: group, offset of the value, and weight of each."""
        mask = last_column(self.store)
        probe[-1] &= ~mask
        runs = near_groups(self.store, probe)
        ends = probe.copy()
        ends[-1] |= mask
        bounds = ranges(probe, ends, descriptors(runs)).reshape(len(runs), probe.shape[1], 2)
        groups, values, weights = [np.empty(0, np.int64)], [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for run, (first, end) in zip(runs, bounds.transpose(0, 2, 1), strict=True):
            at = ranges_of(first, lengths := end - first)
            groups.append(np.repeat(np.arange(len(first)), lengths))
            values.append(run.words[-1, at] & mask)
            weights.append(run.weights[at].astype(np.int64) if run.weights.size else np.ones(len(at), np.int64))
        return np.concatenate(groups), np.concatenate(values), np.concatenate(weights)

    def _own(self, rows: GroupedRows) -> Held:
        """Return the stored values of changed rows."""
        domains = self.source.domains
        if len(self.columns) == 1:
            return domains[self.columns[0]].decode(rows.columns[self.columns[0]])
        parts = []
        for column, part in zip(self.columns, self.type.fields, strict=True):
            raw, domain = rows.columns[column], domains[column]
            parts.append(decode(domain.decode(raw), domain.nulls(raw), part.type, self.interner))
        structs = pa.StructArray.from_arrays(parts, fields=list(self.type.arrow))
        return encode(structs, self.type, self.interner)[0]

    def _domain(self) -> Domain:
        """Return the domain in which the values are ordered, which has no NULL, since NULL may turn the order."""
        if is_labelled(self.type):
            return self.interner[self.type].order.domain
        own = self.source.domains[self.columns[0]]
        return Domain.all(self.type) if own.nullable and self.type.kind in OF_64_BITS else own

    def _offsets(self, held: Held) -> Raw:
        """Return the offsets of stored values in the ordered domain."""
        if is_labelled(self.type):
            held = self.interner[self.type].order.of(held)
        return self.store.domains[-1].encode(held)

    def _held(self, offsets: Raw) -> Held:
        """Return the inverse of `_offsets`."""
        values = self.store.domains[-1].decode(offsets)
        return self.interner[self.type].order.ids(values) if is_labelled(self.type) else values

    def _python(self, held: Held) -> list[Any]:
        """Return stored values as Python values."""
        return from_arrow(decode(held, None, self.type, self.interner), self.type)

    def _count(self, visited: int) -> None:
        """Count entries that walks visited."""
        self.visits.rows += visited
        self._walked += visited
