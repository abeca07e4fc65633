"""Totals of groups: what rows add to them, and the rows that they make, for whoever keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from deltic.engine.accumulators.slots import ROWS, Columns, NoResult, Slots, Totals
from deltic.engine.operators import numbers
from deltic.engine.operators.groups import GroupedRows, Mask
from deltic.engine.operators.query import Environment
from deltic.engine.storage.codec import decode
from deltic.engine.storage.layout import Column, Raw, placed
from deltic.engine.storage.run import Words
from deltic.engine.storage.state import State
from deltic.errors import CountOverflowError
from deltic.program.operators.aggregate import Grouped
from deltic.values.types import Type

# Fewer rows than these have sums that fit into their slots.
_MANY = 1 << 31
# Farther apart than rounding makes them, nearer than two numbers that are the same modulo 2^64.
_APART = float(1 << 62)


class GroupTotals:
    """How the rows of relation `source` add to the totals of their groups, and the rows of `target` come of these."""

    def __init__(self, grouping: Grouped, source: State, target: State, environment: Environment) -> None:
        self.keys, self.calls, self.source, self.target = grouping.keys, grouping.calls, source, target
        self.interner, self.faults = environment.interner, environment.faults
        self.slots = Slots(grouping.calls, source.relation.schema, self.interner)

    def add_linear(self, rows: GroupedRows, old: Totals, change: Totals) -> None:
        """Enter what changed rows add to the slots that add up, to their numbers first.

        Raises CountOverflowError for groups of so many rows that a sum does not fit into 64 bits.
        """
        self._enter(rows, change)
        if max(old[:, ROWS].max(initial=0), rows.weights.max(initial=0), -rows.weights.min(initial=0)) >= _MANY:
            self._check(rows, old, change)

    def _check(self, rows: GroupedRows, old: Totals, change: Totals) -> None:
        """Raise CountOverflowError where the new totals are not about what they are in floats."""
        about = np.zeros(change.shape)
        self._enter(replace(rows, weights=rows.weights.astype(np.float64)), about)
        apart = abs(about + old - (old + change).astype(np.float64)) > _APART
        if apart[:, self._adding].any():
            raise CountOverflowError

    @cached_property
    def _adding(self) -> list[int]:
        """The slots that add up."""
        sums = (range(slot, slot + linear.width) for (_, linear), slot in self.slots.linear.items())
        return [ROWS, *self.slots.counts.values(), *chain.from_iterable(sums)]

    def _enter(self, rows: GroupedRows, change: np.ndarray[Any, Any]) -> None:
        """Enter them, whatever comes of it: modulo 2^64, or as floats."""
        change[rows.groups, ROWS] = rows.sum(rows.weights)
        for columns, slot in self.slots.counts.items():
            there = self.defined(columns, rows)
            change[there.groups, slot] = there.sum(there.weights)
        for (columns, linear), slot in self.slots.linear.items():
            there = self.defined(columns, rows)
            values, types = [self._natural(c, there) for c in columns], [self._type(c) for c in columns]
            for place, amounts in linear.contribute(values, types):
                if isinstance(place, int):
                    change[there.groups, slot + place] += there.sum(amounts * there.weights)
                else:
                    np.add.at(change, (there.group_of_each, slot + place), amounts * there.weights)

    def defined(self, columns: Columns, rows: GroupedRows) -> GroupedRows:
        """The changed rows without NULL in these columns."""
        result = [nulls for c in columns if (nulls := self.source.domains[c].nulls(rows.columns[c])) is not None]
        nulls = np.logical_or.reduce(result) if result else np.zeros(0, bool)
        return rows.where(~nulls) if nulls.any() else rows

    def results(self, totals: Totals) -> list[Column]:
        """The values of each aggregate for groups of these totals, as relations hold them.

        Raises NoResult for a group that has none where it must have one.
        """
        return [result(totals) for result in self.slots.results]

    def report(self, missing: NoResult, keys: Sequence[Raw]) -> None:
        """Enter the group of these keys that has no result among the faults of the epoch, which is then rejected."""
        shown = []
        for column, domain, raw in zip(self.source.relation.schema, self.source.domains, keys, strict=False):
            one = raw[missing.position : missing.position + 1]
            (value,) = decode(domain.decode(one), domain.nulls(one), column.type, self.interner).to_pylist()
            shown.append(f"{column.name} = {'NULL' if value is None else value}")
        group = f" with {', '.join(shown)}" if shown else ""
        self.faults.add(self.target.relation.name, f"{missing.error}{group}", 1)

    def rows(self, keys: Sequence[Raw], results: Sequence[Column], chosen: Mask) -> Words:
        """The packed rows of the chosen groups; DomainOverflow where a result has no place yet."""
        columns = ((values[chosen], None if nulls is None else nulls[chosen]) for values, nulls in results)
        encoded = placed(self.target.domains[self.keys :], columns)
        return self.target.layout.pack([*(key[chosen] for key in keys), *encoded], int(chosen.sum()))

    def _natural(self, column: int, rows: GroupedRows) -> np.ndarray[Any, Any]:
        """A column's values as numpy computes with them."""
        values = self.source.domains[column].decode(rows.columns[column])
        return numbers.natural(values, self._type(column), self.interner)

    def _type(self, column: int) -> Type:
        return self.source.relation.schema.columns[column].type


def differ(a: Column, b: Column) -> Mask:
    """Where two columns have different values, or one of them NULL."""
    (old, was_null), (new, is_null) = a, b
    differs: Mask = old != new
    return differs if was_null is None or is_null is None else (was_null != is_null) | (differs & ~is_null)
