"""The values of a column: how often each occurs, and in which rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]

# The range of values is counted densely if it has at most this many times as many numbers as the column has rows.
_DENSE = 4


class Frequencies:
    """`values` in ascending order, with the number of rows of each in `counts`, which may be 0 in a dense range."""

    def __init__(self, column: Values) -> None:
        self._column = column
        self._low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
        self._width = high - self._low
        self._is_dense = self._width < _DENSE * column.size
        if self._is_dense:
            self.counts = np.bincount(column - self._low)
            self.values = np.arange(self._low, high + 1)
        else:
            self.values, self.counts = np.unique(column, return_counts=True)

    @property
    def distinct(self) -> int:
        """Return the number of distinct values."""
        return int(np.count_nonzero(self.counts))

    def meeting(self, other: Frequencies) -> float:
        """Return the number of pairs of rows of both columns with equal values."""
        counts = other.of(self.values)[1]
        return float((self.counts.astype(np.float64) * counts).sum())

    def of(self, keys: Values) -> tuple[Counts, Counts]:
        """Return, for each key, the position in `order` where its rows start, and their number."""
        if not len(self.values):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        last = len(self.values) - 1
        if self._is_dense:
            places = np.clip(keys, self._low, self._low + last) - self._low
        else:
            places = np.minimum(np.searchsorted(self.values, keys), last)
        return self._starts[places], np.where(self.values[places] == keys, self.counts[places], 0)

    @cached_property
    def _starts(self) -> Counts:
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def order(self) -> Counts:
        """The positions of the rows, in ascending order of their values."""
        bits = len(self._column).bit_length()
        if self._width.bit_length() + bits > 63:
            return np.argsort(self._column, kind="stable")
        # Values and places fit into one integer, which is sorted much faster than places are by their values.
        both = (self._column - self._low) << bits | np.arange(len(self._column))
        both.sort()
        return both & ((1 << bits) - 1)
