"""A relation at one moment, readable while epochs go on, because runs and layouts never change.

Nothing here reads a domain, which may grow in the meantime: a layout has all that is needed to decode a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltic.engine.storage.arrangement import SortedRows, parts, present
from deltic.engine.storage.codec import decode_listed, decode_rows, encode_known, encode_listed, encode_scalar
from deltic.engine.storage.columns import GREATEST, LEAST, Column
from deltic.engine.storage.interner import Interner, is_labelled
from deltic.engine.storage.layout import Layout
from deltic.engine.storage.run import Run, Weights, Words
from deltic.engine.version import Between
from deltic.values.types import Schema, Type

_SCANS = 8
"""The scans for a column that pay for sorting by it."""

_FEW, _MANY = 10_000, 1_000_000
"""The sizes of relations that are sorted when they are scanned: below, a scan is cheap; above, sorting is not."""


Keys = Mapping[str, "list[Any] | pa.ChunkedArray"]
"""The values of keys, by column."""


class NegativeWeight(Exception):
    """A row weighs less than zero."""


@dataclass(frozen=True)
class Frozen:
    """The rows of a relation at one moment, in canonical order and in all other orders that were built.

    If it `is_counted`, weights count derivations, and each row with a positive weight is there once.
    """

    schema: Schema
    is_set: bool
    is_counted: bool
    orders: tuple[SortedRows, ...]
    """The canonical one first."""
    _scans: Counter[int] = field(default_factory=Counter, init=False, compare=False, repr=False)
    _sorted: dict[int, SortedRows] = field(default_factory=dict, init=False, compare=False, repr=False)

    def led_by(self, column: int) -> SortedRows | None:
        """Return the rows in an order that begins with a column for which there is none.

        It is built when the rows have been scanned for the column a few times, if they are neither few nor very many,
        and kept as long as this moment; None otherwise.
        """
        self._scans[column] += 1
        is_worth = self._scans[column] > _SCANS and _FEW < sum(map(len, self.orders[0].runs)) < _MANY
        if column not in self._sorted and is_worth:
            self._sorted[column] = self.orders[0].led_by(column)
        return self._sorted.get(column)

    @property
    def layout(self) -> Layout:
        """The canonical layout."""
        return self.orders[0].layout

    def rows(self) -> tuple[Words, Weights]:
        """Return the rows with a weight, in canonical layout, and their weights, which are one in a set."""
        return self._rows_of(self.orders[0].runs) if self.orders[0].runs else self.layout.no_rows()

    def parts(self) -> Iterator[tuple[Words, Weights]]:
        """Yield the rows in parts, so that memory for a few parts suffices. An empty relation has one part."""
        runs = self.orders[0].runs
        yield from map(self._rows_of, filter(None, parts(runs))) if runs else [self.layout.no_rows()]

    def _rows_of(self, runs: Sequence[Run]) -> tuple[Words, Weights]:
        words, weights = present(runs)
        if self.is_counted:
            words, weights = words[:, weights > 0], np.ones(int((weights > 0).sum()), np.int64)
        return words, weights

    def count(self) -> int:
        """Return the number of rows of a set. Without derivations and iterations, it is the sum of the weights."""
        runs = self.orders[0].runs
        if not self.is_counted and not any(run.max_time for run in runs):
            return sum(run.net for run in runs)
        return sum(int(np.count_nonzero(weights > 0)) for _, weights in self.parts())

    def shown(
        self,
        words: Words,
        weights: Weights,
        interner: Interner,
        counted: bool,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return the rows as an Arrow table: once each in a set, else as often as they weigh.

        If `counted`, each row is there once, with a column WEIGHT. Only the wanted columns are decoded. Raises
        NegativeWeight where a row of a bag cannot be there as often as it weighs.
        """
        words, weights = self.there(words, weights)
        if not self.is_set and not counted:
            if (weights < 0).any():
                raise NegativeWeight
            words = np.repeat(words, weights, axis=1)
        weighed = weights.astype(np.int64, copy=False) if counted else None
        return decode_rows(self.schema, self.layout, words, interner, weighed, columns)

    def there(self, words: Words, weights: Weights) -> tuple[Words, Weights]:
        """Return the rows that are present, and their weights, which are one in a set."""
        there = weights > 0 if self.is_set else weights != 0
        if not there.all():
            words, weights = words[:, there], weights[there]
        return words, np.ones(len(weights), np.int64) if self.is_set else weights

    def key(self, key: Mapping[str, object], interner: Interner) -> dict[int, Column] | None:
        """Return the values of one key by column; None if a value is in no relation."""
        result: dict[int, Column] = {}
        for name, value in key.items():
            index = self.schema.index(name)
            number = 0 if value is None else _number(value, self.schema.columns[index].type, interner)
            if number is None:
                return None
            result[index] = np.array([number], np.int64), np.ones(1, bool) if value is None else None
        return result

    def ranges(self, ranges: Mapping[str, Between], interner: Interner) -> dict[int, tuple[int, int]]:
        """Return the least and greatest values of ranges by column, for types whose order is that of their int64
        values.
        """
        result = {}
        for name, between in ranges.items():
            index = self.schema.index(name)
            type_ = self.schema.columns[index].type
            if not is_labelled(type_):
                low = LEAST if between.low is None else encode_scalar(between.low, type_, interner)
                high = GREATEST if between.high is None else encode_scalar(between.high, type_, interner)
                result[index] = (low, high) if low <= high else (GREATEST, GREATEST - 1)
        return result

    def keys(self, keys: Keys, interner: Interner) -> tuple[dict[int, Column], npt.NDArray[np.bool_] | None]:
        """Return the values of keys by column, without keys that are in no relation, and the mask of those left.

        The mask is None if all are left.
        """
        columns, there = {}, None
        for name, column in keys.items():
            index = self.schema.index(name)
            encode = encode_listed if isinstance(column, list) else encode_known
            columns[index], known = encode(column, self.schema.columns[index].type, interner)
            if known is not None and not known.all():
                there = known if there is None else there & known
        if there is None:
            return columns, None
        left = {index: (values[there], None if n is None else n[there]) for index, (values, n) in columns.items()}
        return left, there

    def listed(self, order: SortedRows, words: Words, interner: Interner) -> list[tuple[Any, ...]]:
        """Return rows that are packed in an order of the relation."""
        columns = dict(zip(order.order, order.layout.values(words), strict=True))
        decoded = [decode_listed(*columns[i], column.type, interner) for i, column in enumerate(self.schema)]
        return [*zip(*decoded, strict=True)] if decoded else [()] * words.shape[1]


def _number(value: object, type_: Type, interner: Interner) -> int | None:
    """Return the int64 value of one value; None for unknown interned values."""
    return interner.known(type_).find(value) if is_labelled(type_) else encode_scalar(value, type_, interner)
