"""Aggregates: each epoch looks at the groups of changed rows, and at what is kept of them, alone.

What is kept of a group are *totals*, one weight for each slot: the number of its rows, sums that wrap around, sums of
exact digits, and for columns with a least or greatest value how many values there are, and which these are. An
arrangement for each such column has all of its values, (key, value) with weights: when the least one vanishes, the
next is found by a walk from where it stood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.types import Kind, Type
from deltic.engine.local.accumulators.slots import ROWS, Slots, Totals
from deltic.engine.local.kernels.groups import read_totals
from deltic.engine.local.kernels.settle import crossings
from deltic.engine.local.operators import numbers
from deltic.engine.local.operators.extremes import Changed, last_column
from deltic.engine.local.operators.kernel import Kernel, kernel_of
from deltic.engine.local.operators.query import Environment
from deltic.engine.local.storage.arrangement import descriptors
from deltic.engine.local.storage.interner import is_interned
from deltic.engine.local.storage.layout import Column, Domain, Raw, Values
from deltic.engine.local.storage.run import Run, Weights, Words, add_runs, consolidate, merge_runs, plain
from deltic.engine.local.storage.state import State
from deltic.program.operators.aggregate import Grouped

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
# Types whose values may need all offsets of 64 bits, those of a nullable domain and one more.
_OF_64_BITS = (Kind.INT64, Kind.UINT64, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.DAY_TIME_INTERVAL)

_AT_ONCE = 1 << 14  # groups whose totals are looked at together
_PATIENCE = 4  # a walk may have met that part of all values before they are swept


@dataclass(frozen=True)
class _Rows:
    """Changed rows, sorted by group: `starts` says where each of the `groups` begins that have any."""

    columns: Sequence[Raw]
    weights: Weights
    starts: Positions
    groups: Positions

    def sum(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The sum of the rows' values in each group."""
        return np.add.reduceat(values, self.starts) if len(values) else values

    @property
    def group_of_each(self) -> Positions:
        """The group of each row."""
        return np.repeat(self.groups, np.diff(self.starts, append=len(self.weights)))

    def where(self, chosen: Mask) -> _Rows:
        """The chosen rows."""
        groups = self.group_of_each[chosen]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        return _Rows([c[chosen] for c in self.columns], self.weights[chosen], starts, groups[starts])


@kernel_of(Grouped)
class Aggregates(Kernel):
    """The groups of one aggregate relation, kept beside its rows."""

    def __init__(self, grouping: Grouped, states: Mapping[str, State], target: State, environment: Environment) -> None:
        self.keys = grouping.keys
        source = self.source = states[grouping.source]
        self.target = target
        self.visits, self.interner = environment.visits, environment.interner
        self.slots = Slots(grouping.calls, source.relation.schema, self.interner)
        keys, order = source.domains[: self.keys], tuple(range(self.keys))
        slot = Domain(Type.INT64, 0, max(1, (self.slots.width - 1).bit_length()), empty=False)
        self.totals = target.keep("totals", order, (*keys, slot))
        self.values = {c: target.keep("values", (*order, c), (*keys, self._ordered(c))) for c in self.slots.present}
        self._walked = dict.fromkeys(self.values, 0)

    def change(self) -> Run:
        """The change of the groups' rows from that of the rows to be grouped; brings the totals up to date."""
        delta = self.source.delta
        assert delta is not None
        columns = self.source.layout.unpack(delta.words)
        weights = delta.all_weights()
        starts = _starts(columns[: self.keys], len(delta))
        parts = []
        for first in range(0, len(starts), _AT_ONCE):
            some = starts[first : first + _AT_ONCE]
            following = starts[first + _AT_ONCE : first + _AT_ONCE + 1]
            rows = slice(int(some[0]), int(following[0]) if len(following) else len(delta))
            parts += self._some_groups([c[rows] for c in columns], weights[rows], some - some[0])
        self._sweep()
        words = np.concatenate([words for words, _ in parts], axis=1)
        signs = np.concatenate([np.full(part.shape[1], sign) for part, sign in parts])
        self.visits.rows += len(delta)
        moved, sums = consolidate(words, signs)
        return Run(moved, weights=plain(sums))

    def _some_groups(self, columns: list[Raw], weights: Weights, starts: Positions) -> list[tuple[Words, int]]:
        """The rows that some groups lose and get, with their signs."""
        keys = [column[starts] for column in columns[: self.keys]]
        probe = self.totals.layout.pack([*keys, np.zeros(len(starts), np.uint64)], len(starts))
        old, visited = read_totals(probe, last_column(self.totals), descriptors(self.totals.runs), self.slots.width)
        self.visits.rows += int(visited)
        rows = _Rows(columns, weights, starts, np.arange(len(starts)))
        change = np.zeros((len(starts), self.slots.width), np.int64)
        change[:, ROWS] = rows.sum(weights)
        self._sums(rows, change)
        for column in self.slots.present:
            self._order(column, self._defined(column, rows), old, change)
        self._keep(keys, change)
        before, after = self._results(old), self._results(old + change)
        was, remains = old[:, ROWS] > 0, (old + change)[:, ROWS] > 0
        differs = np.logical_or.reduce([was != remains, *map(_differ, before, after)])
        lost, found = was & differs, remains & differs
        return [(self._rows(keys, before, lost), -1), (self._rows(keys, after, found), 1)]

    def _sums(self, rows: _Rows, change: Totals) -> None:
        """Enter what the changed rows add to the linear slots."""
        for column, slot in self.slots.counts.items():
            there = self._defined(column, rows)
            change[there.groups, slot] = there.sum(there.weights)
        for (column, linear), slot in self.slots.linear.items():
            there = self._defined(column, rows)
            for place, amounts in linear.contribute(self._natural(column, there), self._type(column)):
                if isinstance(place, int):
                    change[there.groups, slot + place] += there.sum(amounts * there.weights)
                else:
                    np.add.at(change, (there.group_of_each, slot + place), amounts * there.weights)

    def _defined(self, column: int, rows: _Rows) -> _Rows:
        """The changed rows whose value in a column is not NULL."""
        nulls = self.source.domains[column].nulls(rows.columns[column])
        return rows if nulls is None or not nulls.any() else rows.where(~nulls)

    def _order(self, column: int, rows: _Rows, old: Totals, change: Totals) -> None:
        """Bring the values of a column up to date, and enter how many there are and which are the extreme ones."""
        if not len(rows.weights):
            return
        columns, weights, touched = rows.columns, rows.weights, rows.groups
        store = self.values[column]
        own = self.source.domains[column].decode(columns[column])
        packed = store.layout.pack([*columns[: self.keys], self._offsets(column, own)], len(weights))
        words, sums = consolidate(packed, weights, keep_zeros=True)
        *keys, values = store.layout.unpack(words)
        starts = _starts(keys, len(sums))
        before = store.weights_of(words)
        moved = sums != 0
        store.runs = add_runs(store.runs, Run(words[:, moved], weights=plain(sums[moved])))
        present = self.slots.present[column]
        count = np.add.reduceat(crossings(before, sums), starts)
        change[touched, present] = count
        changed = Changed(words, values, starts, before + sums > 0)
        past = old[touched]
        had, has = past[:, present] > 0, past[:, present] + count > 0
        for forward, slot in self.slots.extremes[column].items():
            found, visited = changed.extreme(store, forward, self._offsets(column, past[:, slot]), had)
            self.visits.rows += visited
            self._walked[column] += visited
            change[touched[has], slot] = self._held(column, found[has])
            change[touched, slot] -= past[:, slot]

    def _ordered(self, column: int) -> Domain:
        """The domain in which a column's values are kept in order; one without NULL, which may turn the order."""
        type_ = self._type(column)
        if is_interned(type_):
            return self.interner[type_].order.domain
        own = self.source.domains[column]
        return Domain.all(type_) if own.nullable and type_.kind in _OF_64_BITS else own

    def _offsets(self, column: int, values: Values) -> Raw:
        """The offsets of values of a column in the domain that has them in order."""
        if is_interned(type_ := self._type(column)):
            values = self.interner[type_].order.of(values)
        return self.values[column].domains[-1].encode(values)

    def _held(self, column: int, offsets: Raw) -> Values:
        """The inverse of `_offsets`."""
        values = self.values[column].domains[-1].decode(offsets)
        return self.interner[type_].order.ids(values) if is_interned(type_ := self._type(column)) else values

    def _sweep(self) -> None:
        """Merge all runs of values whose walks have met many entries: most of those are of values that are gone.

        That costs less than the walks did, and what walks can meet after it has to be deleted first.
        """
        for column, store in self.values.items():
            if len(store.runs) > 1 and self._walked[column] > len(store) // _PATIENCE:
                merged = reduce(merge_runs, store.runs)
                store.runs = (merged,) if len(merged) else ()
                self._walked[column] = 0

    def _keep(self, keys: Sequence[Raw], change: Totals) -> None:
        """Add changes of totals to what is kept."""
        groups, slots = np.nonzero(change)
        words = self.totals.layout.pack([*(key[groups] for key in keys), slots.view(np.uint64)], len(groups))
        self.totals.runs = add_runs(self.totals.runs, Run(words, weights=plain(change[groups, slots])))

    def _results(self, totals: Totals) -> list[Column]:
        """The values of each aggregate for groups of these totals, as relations hold them."""
        return [result(totals) for result in self.slots.results]

    def _rows(self, keys: Sequence[Raw], results: Sequence[Column], chosen: Mask) -> Words:
        """The packed rows of the chosen groups; DomainOverflow where a result has no place yet."""
        encoded = []
        for domain, (values, nulls) in zip(self.target.domains[self.keys :], results, strict=True):
            encoded.append(domain.place(values[chosen], None if nulls is None else nulls[chosen]))
        return self.target.layout.pack([*(key[chosen] for key in keys), *encoded], int(chosen.sum()))

    def _natural(self, column: int, rows: _Rows) -> np.ndarray[Any, Any]:
        """A column's values as numpy computes with them."""
        values = self.source.domains[column].decode(rows.columns[column])
        return numbers.natural(values, self._type(column), self.interner)

    def _type(self, column: int) -> Type:
        return self.source.relation.schema.columns[column].type


def _differ(a: Column, b: Column) -> Mask:
    """Where two columns have different values, or one of them NULL."""
    (old, was_null), (new, is_null) = a, b
    differ: Mask = old != new
    return differ if was_null is None or is_null is None else (was_null != is_null) | (differ & ~is_null)


def _starts(keys: Sequence[Raw], count: int) -> Positions:
    """Where a group begins among `count` rows, one or more, that are sorted by these columns."""
    new = np.zeros(count, bool)
    new[0] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)
