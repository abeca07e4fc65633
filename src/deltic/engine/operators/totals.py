"""Totals of groups: the contributions of rows, and the resulting rows, independent of where totals are stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from deltic.engine.accumulators.slots import ROWS, Columns, Linear, NoResult, Slots, Totals
from deltic.engine.operators import numbers
from deltic.engine.operators.groups import GroupedRows, Mask, Positions
from deltic.engine.operators.query import Environment
from deltic.engine.storage.codec import decode
from deltic.engine.storage.layout import Column, Raw, placed
from deltic.engine.storage.run import Words
from deltic.engine.storage.state import State
from deltic.errors import CountOverflowError
from deltic.program.operators.aggregate import Grouped
from deltic.values.types import Type

T = TypeVar("T")

# The values of several columns are added together up to this number.
_TOGETHER = 1 << 18
# Sums over fewer rows than this always fit into their slots.
_MANY = 1 << 31
# More than any rounding error, less than the distance of numbers that are equal modulo 2^64.
_APART = float(1 << 62)


class GroupTotals:
    """Adds rows of relation `source` to the totals of their groups, and makes rows of `target` from the totals."""

    def __init__(self, grouping: Grouped, source: State, target: State, environment: Environment) -> None:
        self.keys, self.calls, self.source, self.target = grouping.keys, grouping.calls, source, target
        self.interner, self.faults = environment.interner, environment.faults
        self.slots = Slots(grouping.calls, source.relation.schema, self.interner)

    def add_linear(self, rows: GroupedRows, old: Totals, change: Totals) -> None:
        """Add the contributions of changed rows to the additive slots, first to their numbers.

        Raises CountOverflowError if a group has so many rows that a sum does not fit into 64 bits.
        """
        self._enter(rows, change)
        if max(old[:, ROWS].max(initial=0), rows.weights.max(initial=0), -rows.weights.min(initial=0)) >= _MANY:
            self._check(rows, old, change)

    def _check(self, rows: GroupedRows, old: Totals, change: Totals) -> None:
        """Raise CountOverflowError if the new totals differ much from those in floating point."""
        about = np.zeros(change.shape)
        self._enter(replace(rows, weights=rows.weights.astype(np.float64)), about)
        apart = abs(about + old - (old + change).astype(np.float64)) > _APART
        if apart[:, self._adding].any():
            raise CountOverflowError

    @cached_property
    def _adding(self) -> list[int]:
        """The additive slots."""
        sums = (range(slot, slot + linear.width) for (_, linear), slot in self.slots.linear.items())
        return [ROWS, *self.slots.counts.values(), *chain.from_iterable(sums)]

    def _enter(self, rows: GroupedRows, change: np.ndarray[Any, Any]) -> None:
        """Add the contributions without checks: modulo 2^64, or as floats."""
        change[rows.groups, ROWS] = rows.sum(rows.weights)
        for some in self._parts([*self.slots.counts.items()], rows):
            there = self._are_there([columns for columns, _ in some], rows)
            self._add(change, np.array([slot for _, slot in some]), there, rows)
        for (linear, type_), all_columns in self._elementwise.items():
            for part in self._parts(all_columns, rows):
                first = np.array([slot for _, slot in part], np.int64)
                values = self._defined_values([column for column, _ in part], type_, rows)
                for place, amounts in linear.contribute([values], [type_]):
                    self._add(change, first + place, amounts, rows)
        for (columns, linear), slot in self._others.items():
            self._enter_one(columns, linear, slot, rows, change)

    def _enter_one(
        self, columns: Columns, linear: Linear, slot: int, rows: GroupedRows, change: np.ndarray[Any, Any]
    ) -> None:
        """Add the contributions of a sum whose slots depend on the values."""
        there = self.defined(columns, rows)
        values, types = [self._natural(c, there) for c in columns], [self._type(c) for c in columns]
        for place, amounts in linear.contribute(values, types):
            places: Any = slot + place
            np.add.at(change, (there.group_of_each, places), amounts * there.weights)

    def _add(
        self, change: np.ndarray[Any, Any], slots: Positions, amounts: np.ndarray[Any, Any], rows: GroupedRows
    ) -> None:
        """Add amounts [slots, rows], times the rows' weights, to some slots of the rows' groups."""
        change[rows.groups.reshape(-1, 1), slots] += rows.sum(amounts * rows.weights).T

    def _parts(self, columns: Sequence[T], rows: GroupedRows) -> Iterator[Sequence[T]]:
        """Yield the columns in parts whose values are in memory together."""
        step = max(1, _TOGETHER // max(1, len(rows.weights)))
        return (columns[first : first + step] for first in range(0, len(columns), step))

    @cached_property
    def _elementwise(self) -> dict[tuple[Linear, Type], list[tuple[int, int]]]:
        """The columns and first slots of sums that are computed together, by the sum and their type."""
        result: dict[tuple[Linear, Type], list[tuple[int, int]]] = {}
        for (columns, linear), slot in self.slots.linear.items():
            if linear.is_elementwise:
                result.setdefault((linear, self._type(columns[0])), []).append((columns[0], slot))
        return result

    @cached_property
    def _others(self) -> dict[tuple[Columns, Linear], int]:
        """The first slots of the other sums."""
        return {key: slot for key, slot in self.slots.linear.items() if not key[1].is_elementwise}

    def _are_there(self, columns: Sequence[Columns], rows: GroupedRows) -> Mask:
        """Return which rows have no NULL in some columns, bool[columns, rows]."""
        result = np.ones((len(columns), len(rows.weights)), bool)
        for place, each in enumerate(columns):
            for column in each:
                if (nulls := self.source.domains[column].nulls(rows.columns[column])) is not None:
                    result[place] &= ~nulls
        return result

    def defined(self, columns: Columns, rows: GroupedRows) -> GroupedRows:
        """Return the changed rows without NULL in these columns."""
        result = [nulls for c in columns if (nulls := self.source.domains[c].nulls(rows.columns[c])) is not None]
        nulls = np.logical_or.reduce(result) if result else np.zeros(0, bool)
        return rows.where(~nulls) if nulls.any() else rows

    def results(self, totals: Totals) -> list[Column]:
        """Return the stored values of each aggregate for groups of these totals.

        Raises NoResult if a group has no value where one is required.
        """
        return [result(totals) for result in self.slots.results]

    def report(self, missing: NoResult, keys: Sequence[Raw]) -> None:
        """Add the group of these keys, which lacks a required result, to the faults of the epoch."""
        shown = []
        for column, domain, raw in zip(self.source.relation.schema, self.source.domains, keys, strict=False):
            one = raw[missing.position : missing.position + 1]
            (value,) = decode(domain.decode(one), domain.nulls(one), column.type, self.interner).to_pylist()
            shown.append(f"{column.name} = {'NULL' if value is None else value}")
        group = f" with {', '.join(shown)}" if shown else ""
        self.faults.add(self.target.relation.name, f"{missing.error}{group}", 1)

    def rows(self, keys: Sequence[Raw], results: Sequence[Column], chosen: Mask) -> Words:
        """Return the packed rows of the chosen groups. DomainOverflow if a result has no place yet."""
        columns = ((values[chosen], None if nulls is None else nulls[chosen]) for values, nulls in results)
        made = placed(self.target.domains[self.keys :], columns)
        return self.target.layout.pack((key[chosen] for key in keys), int(chosen.sum()), made)

    def _defined_values(self, columns: Sequence[int], type_: Type, rows: GroupedRows) -> np.ndarray[Any, Any]:
        """Return the values [columns, rows] of columns of one type in numpy's representation, 0 for NULL."""
        raw = np.stack([rows.columns[column] for column in columns])
        domains = [self.source.domains[column] for column in columns]
        bases = np.array([[domain.base % (1 << 64)] for domain in domains], np.uint64)
        values = numbers.natural((raw + bases).view(np.int64).ravel(), type_, self.interner).reshape(raw.shape)
        if not any(domain.nullable for domain in domains):
            return values
        there = (raw != 0) | np.array([[not domain.nullable] for domain in domains])
        return values if there.all() else np.where(there, values, 0)

    def _natural(self, column: int, rows: GroupedRows) -> np.ndarray[Any, Any]:
        """Return a column's values in numpy's representation."""
        values = self.source.domains[column].decode(rows.columns[column])
        return numbers.natural(values, self._type(column), self.interner)

    def _type(self, column: int) -> Type:
        return self.source.relation.schema.columns[column].type


def halves_differ(column: Column) -> Mask:
    """Return where the first and the second half of a column have different values, or only one is NULL."""
    values, nulls = column
    old, new = values.reshape(2, -1)
    differs: Mask = old != new
    if nulls is None:
        return differs
    was_null, is_null = nulls.reshape(2, -1)
    result: Mask = (was_null != is_null) | (differs & ~is_null)
    return result
