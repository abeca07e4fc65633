"""A relation as it was at one moment, to be read while epochs go on: runs and layouts never change.

Nothing here asks a domain, which may grow meanwhile: a layout says where a value stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.engine.between import Between
from deltic.engine.storage.arrangement import SortedRows, parts, present
from deltic.engine.storage.codec import decode_rows, encode_known, encode_scalar
from deltic.engine.storage.interner import Interner, is_labelled
from deltic.engine.storage.layout import GREATEST, LEAST, Column, Layout
from deltic.engine.storage.run import Run, Weights, Words
from deltic.values.types import Schema, Type


@dataclass(frozen=True)
class Frozen:
    """The rows of a relation, in canonical order and in all others that were there.

    `is_counted`: weights are those of derivations, and a row with a positive one is there once.
    """

    schema: Schema
    is_set: bool
    is_counted: bool
    orders: tuple[SortedRows, ...]
    """The canonical one first."""

    @property
    def layout(self) -> Layout:
        """The canonical layout."""
        return self.orders[0].layout

    def rows(self) -> tuple[Words, Weights]:
        """The rows that have a weight, in canonical layout, and their weights: one for all of a set."""
        return self._rows_of(self.orders[0].runs) if self.orders[0].runs else self.no_rows()

    def parts(self) -> Iterator[tuple[Words, Weights]]:
        """The same in parts, so that memory for some of them is enough; a relation without rows has one."""
        runs = self.orders[0].runs
        yield from map(self._rows_of, filter(None, parts(runs))) if runs else [self.no_rows()]

    def _rows_of(self, runs: Sequence[Run]) -> tuple[Words, Weights]:
        words, weights = present(runs)
        if self.is_counted:
            words, weights = words[:, weights > 0], np.ones(int((weights > 0).sum()), np.int64)
        return words, weights

    def no_rows(self) -> tuple[Words, Weights]:
        """No rows and no weights, in canonical layout."""
        return np.empty((self.layout.words, 0), np.uint64), np.empty(0, np.int64)

    def count(self) -> int:
        """How many rows there are: of a set as many as its weights add up to, but for derivations and iterations."""
        runs = self.orders[0].runs
        if self.is_set and not self.is_counted and not any(run.max_time for run in runs):
            return sum(run.net for run in runs)
        there = (np.maximum(weights, 0) for _, weights in self.parts())
        return sum(int(np.count_nonzero(weights) if self.is_set else weights.sum()) for weights in there)

    def shown(
        self,
        words: Words,
        weights: Weights,
        interner: Interner,
        counted: bool,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """The rows of positive weight: as often as they weigh or, of a set and where `counted` with WEIGHT, once.

        Where `counted`, a bag also has its rows of negative weight. All columns, or some: the others are
        not decoded.
        """
        there = weights != 0 if counted and not self.is_set else weights > 0
        if not there.all():
            words, weights = words[:, there], weights[there]
        if self.is_set:
            weights = np.ones(len(weights), np.int64)
        elif not counted:
            words = np.repeat(words, weights, axis=1)
        weighed = weights.astype(np.int64, copy=False) if counted else None
        return decode_rows(self.schema, self.layout, words, interner, weighed, columns)

    def key(self, key: Mapping[str, object], interner: Interner) -> dict[int, int | None] | None:
        """The values of a key by column, NULL as None; None when one of them is in no relation."""
        result: dict[int, int | None] = {}
        for name, value in key.items():
            index = self.schema.index(name)
            number = _number(value, self.schema.columns[index].type, interner)
            if number is None and value is not None:
                return None
            result[index] = number
        return result

    def ranges(self, ranges: Mapping[str, Between], interner: Interner) -> dict[int, tuple[int, int]]:
        """The least and the greatest value of ranges by column, of those types whose order is that of numbers."""
        result = {}
        for name, between in ranges.items():
            index = self.schema.index(name)
            type_ = self.schema.columns[index].type
            if not is_labelled(type_):
                low = LEAST if between.low is None else encode_scalar(between.low, type_, interner)
                high = GREATEST if between.high is None else encode_scalar(between.high, type_, interner)
                result[index] = (low, high) if low <= high else (GREATEST, GREATEST - 1)
        return result

    def keys(self, keys: pa.Table, interner: Interner) -> tuple[dict[int, Column], npt.NDArray[np.bool_]]:
        """The values of many keys, by column, without those that hold what is in no relation; and which are left."""
        columns, there = {}, np.ones(len(keys), bool)
        for name in keys.column_names:
            index = self.schema.index(name)
            columns[index], known = encode_known(keys.column(name), self.schema.columns[index].type, interner)
            there &= known
        if there.all():
            return columns, there
        left = {index: (values[there], None if n is None else n[there]) for index, (values, n) in columns.items()}
        return left, there


def _number(value: object, type_: Type, interner: Interner) -> int | None:
    """The int64 value of one value; None for NULL, and for what is not known."""
    if value is None:
        return None
    return interner.known(type_).find(value) if is_labelled(type_) else encode_scalar(value, type_, interner)
