"""Totals of groups: the contributions of rows, and the resulting rows, independent of where totals are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from deltic.engine.accumulators.slots import ROWS, Columns, Linear, NoResult, Slots, Totals
from deltic.engine.kernels.packing import pack_groups
from deltic.engine.kernels.totals import HALVES, OF, ONE, UNSIGNED_HALVES, add_sums
from deltic.engine.kernels.types import Table
from deltic.engine.operators import numbers
from deltic.engine.operators.groups import GroupedRows, Positions
from deltic.engine.operators.query import Environment
from deltic.engine.storage.codec import decode
from deltic.engine.storage.columns import ColumnBlock, Domain, Raw, limits, overflow, signed
from deltic.engine.storage.interner import is_wide
from deltic.engine.storage.run import Words
from deltic.engine.storage.state import State
from deltic.engine.storage.value_order import LARGE
from deltic.errors import CountOverflowError
from deltic.program.operators.aggregate import Grouped
from deltic.values.types import Kind, Type

# More than any rounding error, less than the distance of numbers that are equal modulo 2^64.
_APART = float(1 << 62)


class GroupTotals:
    """Adds rows of relation `source` to the totals of their groups, and makes rows of `target` from the totals."""

    def __init__(self, grouping: Grouped, source: State, target: State, environment: Environment) -> None:
        self.keys, self.calls, self.source, self.target = grouping.keys, grouping.calls, source, target
        self.interner, self.faults = environment.interner, environment.faults
        self.slots = Slots(grouping.calls, source.relation.schema, self.interner)
        self._made: tuple[object, tuple[Table, Table]] | None = None

    def add_linear(self, rows: GroupedRows, old: Totals, change: Totals) -> None:
        """Add the contributions of changed rows to the additive slots.

        Raises CountOverflowError if a group has so many rows that a sum does not fit into 64 bits.
        """
        given = np.asarray(rows.columns), rows.weights, rows.starts, rows.groups
        are_many, fits, left = add_sums(*given, *self._readings, old, change)
        if others := self._others | self._left_out(left) if np.count_nonzero(left) else self._others:
            own = self._sums(others, rows, change.shape)
            if are_many:
                about = self._sums(others, replace(rows, weights=rows.weights.astype(np.float64)), change.shape)
                fits = fits and not (abs(about + old - (old + own).astype(np.float64)) > _APART).any()
            change += own
        if not fits:
            raise CountOverflowError

    @property
    def _readings(self) -> tuple[Table, Table]:
        """The readings of `kernels.totals` and their columns, in the present domains."""
        present = Domain.latest, self.source.domains
        if self._made is None or self._made[0] != present:
            readings, reads = list[tuple[int, ...]](), list[tuple[int, ...]]()
            for kind, slot, columns, limit in self._compiled:
                readings.append((kind, slot, len(reads), len(columns), limit))
                for column in columns:
                    domain = self.source.domains[column]
                    flip = self._type(column).kind is Kind.UINT64
                    reads.append((column, signed(domain.base + (flip << 63)), domain.nullable))
            self._made = present, (np.array(readings, np.int64), np.array(reads, np.int64).reshape(-1, OF.COLUMNS))
        return self._made[1]

    @cached_property
    def _compiled(self) -> list[tuple[int, int, Columns, int]]:
        """Of each sum that compiled code adds: its kind, its first slot, its columns, and its limit."""
        result = [(ONE, ROWS, (), 0), *((ONE, slot, columns, 0) for columns, slot in self.slots.counts.items())]
        for (columns, linear), slot in self.slots.linear.items():
            if linear.compiled:
                type_ = self._type(columns[0])
                is_unsigned = linear.compiled == HALVES and type_.kind is Kind.UINT64
                kind = UNSIGNED_HALVES if is_unsigned else linear.compiled
                result.append((kind, slot, columns, LARGE if is_wide(type_) else 0))
        return result

    @cached_property
    def _others(self) -> dict[tuple[Columns, Linear], int]:
        """The first slots of the sums that no compiled code adds."""
        return {key: slot for key, slot in self.slots.linear.items() if not key[1].compiled}

    def _left_out(self, left: Positions) -> dict[tuple[Columns, Linear], int]:
        """Return the first slots of compiled sums that are left to others."""
        wanted = {self._compiled[n][1] for n in np.flatnonzero(left)}
        return {key: slot for key, slot in self.slots.linear.items() if slot in wanted}

    def _sums(
        self, sums: Mapping[tuple[Columns, Linear], int], rows: GroupedRows, shape: tuple[int, ...]
    ) -> np.ndarray[Any, Any]:
        """Return what sums, with their first slots, add to totals of this shape: modulo 2^64, or as floats."""
        result = np.zeros(shape, rows.weights.dtype)
        for (columns, linear), slot in sums.items():
            there = self.defined(columns, rows)
            values, types = [self._natural(c, there) for c in columns], [self._type(c) for c in columns]
            for place, amounts in linear.contribute(values, types):
                places: Any = slot + place
                np.add.at(result, (there.group_of_each, places), amounts * there.weights)
        return result

    def defined(self, columns: Columns, rows: GroupedRows) -> GroupedRows:
        """Return the changed rows without NULL in these columns."""
        result = [nulls for c in columns if (nulls := self.source.domains[c].nulls(rows.columns[c])) is not None]
        nulls = np.logical_or.reduce(result) if result else np.zeros(0, bool)
        return rows.where(~nulls) if nulls.any() else rows

    def report(self, missing: NoResult, keys: Words | Sequence[Raw]) -> None:
        """Add the group of these keys, which lacks a required result, to the faults of the epoch."""
        shown = []
        for column, domain, raw in zip(self.source.relation.schema, self.source.domains, keys, strict=False):
            one = raw[missing.position : missing.position + 1]
            (value,) = decode(domain.decode(one), domain.nulls(one), column.type, self.interner).to_pylist()
            shown.append(f"{column.name} = {'NULL' if value is None else value}")
        group = f" with {', '.join(shown)}" if shown else ""
        self.faults.add(self.target.relation.name, f"{missing.error}{group}", 1)

    def rows(self, keys: Words, groups: Positions, results: ColumnBlock, at: Positions) -> Words:
        """Return the packed rows of groups, whose results are `at` these positions.

        Raises DomainOverflow if a result has no place yet.
        """
        domains, layout = self.target.domains[self.keys :], self.target.layout
        words = np.zeros((layout.words, len(at)), np.uint64)
        if not pack_groups(keys, groups, results.addresses, at, limits(domains), layout.table, words):
            overflow(domains, [(v[at], None if nulls is None else nulls[at]) for v, nulls in results])
        return words

    def _natural(self, column: int, rows: GroupedRows) -> np.ndarray[Any, Any]:
        """Return a column's values in numpy's representation."""
        values = self.source.domains[column].decode(rows.columns[column])
        return numbers.natural(values, self._type(column), self.interner)

    def _type(self, column: int) -> Type:
        return self.source.relation.schema.columns[column].type
