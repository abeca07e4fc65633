"""Aggregates: each epoch looks at the groups of changed rows, and at what is kept of them, alone.

What is kept of a group are *totals*, one weight for each slot: the number of its rows, sums that wrap around, sums of
exact digits, and for columns with a least or greatest value how many values there are, and which these are. An
arrangement for each such column has all of its values, (key, value) with weights: when the least one vanishes, the
next is found by a walk from where it stood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.circuit.types import Type
from deltic.engine.local.accumulators.slots import ROWS, Slots, Totals
from deltic.engine.local.kernels.groups import read_totals
from deltic.engine.local.kernels.settle import crossings
from deltic.engine.local.operators import scalar
from deltic.engine.local.operators.extremes import Changed, last_column
from deltic.engine.local.operators.kernel import Kernel, kernel_of
from deltic.engine.local.operators.query import Environment
from deltic.engine.local.storage.arrangement import descriptors
from deltic.engine.local.storage.layout import Domain, Raw, Values
from deltic.engine.local.storage.run import Run, Weights, Words, add_runs, consolidate, merge_runs, plain
from deltic.engine.local.storage.state import State
from deltic.program.operators.aggregate import Grouped

Positions = npt.NDArray[np.int64]

_AT_ONCE = 1 << 14  # groups whose totals are looked at together
_PATIENCE = 4  # a walk may have met that part of all values before they are swept


@kernel_of(Grouped)
class Aggregates(Kernel):
    """The groups of one aggregate relation, kept beside its rows."""

    def __init__(self, grouping: Grouped, states: Mapping[str, State], target: State, environment: Environment) -> None:
        self.keys = grouping.keys
        source = self.source = states[grouping.source]
        self.target = target
        self.visits, self.interner = environment.visits, environment.interner
        self.slots = Slots(grouping.calls, source.relation.schema)
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
        change = self._sums(columns, weights, starts)
        for column in self.slots.present:
            self._order(column, columns, weights, old, change)
        self._keep(keys, change)
        before, after = self._results(old), self._results(old + change)
        was, remains = old[:, ROWS] > 0, (old + change)[:, ROWS] > 0
        differs = np.logical_or.reduce([was != remains, *(a != b for a, b in zip(before, after, strict=True))])
        lost, found = was & differs, remains & differs
        return [(self._rows(keys, before, lost), -1), (self._rows(keys, after, found), 1)]

    def _sums(self, columns: Sequence[Raw], weights: Weights, starts: Positions) -> Totals:
        """What the changed rows add to the linear slots."""
        change = np.zeros((len(starts), self.slots.width), np.int64)
        change[:, ROWS] = np.add.reduceat(weights, starts)
        groups = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(weights)))
        for (column, linear), slot in self.slots.linear.items():
            values = self._natural(column, columns)
            for place, amounts in linear.contribute(values, self._type(column)):
                if isinstance(place, int):
                    change[:, slot + place] += np.add.reduceat(amounts * weights, starts)
                else:
                    np.add.at(change, (groups, slot + place), amounts * weights)
        return change

    def _order(self, column: int, columns: Sequence[Raw], weights: Weights, old: Totals, change: Totals) -> None:
        """Bring the values of a column up to date, and enter how many there are and which are the extreme ones."""
        store = self.values[column]
        own = self.source.domains[column].decode(columns[column])
        rows = store.layout.pack([*columns[: self.keys], self._offsets(column, own)], len(weights))
        words, sums = consolidate(rows, weights, keep_zeros=True)
        *keys, values = store.layout.unpack(words)
        starts = _starts(keys, len(sums))
        before = store.weights_of(words)
        moved = sums != 0
        store.runs = add_runs(store.runs, Run(words[:, moved], weights=plain(sums[moved])))
        present = self.slots.present[column]
        change[:, present] = np.add.reduceat(crossings(before, sums), starts)
        changed = Changed(words, values, starts, before + sums > 0)
        had, has = old[:, present] > 0, (old + change)[:, present] > 0
        for forward, slot in self.slots.extremes[column].items():
            found, visited = changed.extreme(store, forward, self._offsets(column, old[:, slot]), had)
            self.visits.rows += visited
            self._walked[column] += visited
            change[has, slot] = self._held(column, found[has])
            change[:, slot] -= old[:, slot]

    def _ordered(self, column: int) -> Domain:
        """The domain in which a column's values are kept in order."""
        return self.interner.order.domain if self._type(column) is Type.STRING else self.source.domains[column]

    def _offsets(self, column: int, values: Values) -> Raw:
        """The offsets of values of a column in the domain that has them in order."""
        if self._type(column) is Type.STRING:
            values = self.interner.order.of(values)
        return self._ordered(column).encode(values)

    def _held(self, column: int, offsets: Raw) -> Values:
        """The inverse of `_offsets`."""
        values = self._ordered(column).decode(offsets)
        return self.interner.order.ids(values) if self._type(column) is Type.STRING else values

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

    def _results(self, totals: Totals) -> list[Values]:
        """The values of each aggregate for groups of these totals, as relations hold them."""
        return [result(totals) for result in self.slots.results]

    def _rows(self, keys: Sequence[Raw], results: Sequence[Values], chosen: npt.NDArray[np.bool_]) -> Words:
        """The packed rows of the chosen groups; DomainOverflow where a result has no place yet."""
        encoded = []
        for domain, result in zip(self.target.domains[self.keys :], results, strict=True):
            encoded.append(domain.place(result[chosen]))
        return self.target.layout.pack([*(key[chosen] for key in keys), *encoded], int(chosen.sum()))

    def _natural(self, column: int, columns: Sequence[Raw]) -> np.ndarray[Any, Any]:
        """A column's values as numpy computes with them."""
        return scalar.natural(self.source.domains[column].decode(columns[column]), self._type(column))

    def _type(self, column: int) -> Type:
        return self.source.relation.schema.columns[column].type


def _starts(keys: Sequence[Raw], count: int) -> Positions:
    """Where a group begins among `count` rows, one or more, that are sorted by these columns."""
    new = np.zeros(count, bool)
    new[0] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)
