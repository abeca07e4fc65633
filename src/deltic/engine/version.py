"""The published version of an epoch: tables and views that any thread may read while other epochs go on.

Of a recursive relation it stores entries, each the change of a row's weight at an iteration. Rows are looked up by
values or by ranges of values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deltic.lazy import np, pa, pc
from deltic.values import in_order, of_python
from deltic.values.types import Kind, Type

if TYPE_CHECKING:
    import numpy.typing as npt

    from deltic.engine.storage.run import Times, Weights, Words


def rows_shown(weights: npt.NDArray[np.int64]) -> int:
    """Return the number of rows that `Version.read` returns, from their weights int64[n]."""
    return int((weights != 0).sum() if (weights < 0).any() else weights.sum())


class Version(Protocol):
    """The tables and views as of the epoch of number `epoch`. They never change."""

    epoch: int

    def read(
        self, name: str, *, table: bool = False, counted: bool = False, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return the rows of a view, or of a table, in no particular order; all columns, or some.

        A row of a set is there once, one of a bag as often as its weight. If `counted`, or if a weight is negative,
        each is there once, with a column WEIGHT. If a table and a view have the same name, the view is read unless
        `table` is true.
        """

    def lookup(self, name: str, key: Mapping[str, object], *, counted: bool = False) -> pa.Table:
        """Return the rows of a table or view with these values in these columns, in the form of `read`."""

    def find(self, name: str, keys: Mapping[str, list[Any]], *, table: bool = False) -> dict[tuple[Any, ...], int]:
        """Return the rows of a view, or of a table, that agree with one of the keys, with their weights.

        `keys` has their values by column, in the form of rows; all rows agree if it has no columns.
        """

    def history(self, name: str, keys: Mapping[str, list[Any]], members: Collection[str]) -> Entries | None:
        """Return the history of a recursive view's rows that `find` would return: the changes of their weights.

        Of a set, only the first iteration of each row. None if the stored iterations are not those of a recursion of
        exactly these `members`.
        """
        return None

    def lookup_all(self, name: str, keys: pa.Table) -> pa.Table:
        """Return the rows of a table that agree with one of these keys in the keys' columns, in the form of `read`."""

    def count_each(self, name: str, keys: pa.Table, *, table: bool = False) -> npt.NDArray[np.int64]:
        """Return, for each key, the number of rows of a set that agree with it in the keys' columns, int64[n].

        The name is that of a view or table as in `read`.
        """

    def entries(self, name: str) -> int:
        """Return the number of rows of a table, or more if some of its changes cancel. It costs nothing."""

    def count(self, name: str, *, table: bool = False) -> int:
        """Return the number of rows of a table or view that `read` returns."""


Row = tuple[Any, ...]


@dataclass(frozen=True)
class Entries:
    """Entries in several parts, decoded when they are read. Those of a row are adjacent, in order of iteration."""

    parts: Sequence[tuple[Callable[[Words], Sequence[Row]], Words, Times, Weights]]
    """The function that decodes rows, the packed rows, and for each its iteration and the change of its weight."""

    def __len__(self) -> int:
        return sum(len(times) for _, _, times, _ in self.parts)

    def __iter__(self) -> Iterator[tuple[Row, int, int]]:
        """Yield rows, iterations and changes."""
        for decode, words, times, weights in self.parts:
            yield from zip(decode(words), times.tolist(), weights.tolist(), strict=True)

    def until(self, at: int | None) -> Entries:
        """Return the entries up to an iteration; None for all."""
        if at is None:
            return self
        there = [times <= at for _, _, times, _ in self.parts]
        parts = zip(self.parts, there, strict=True)
        return Entries([(each[0], each[1][:, kept], each[2][kept], each[3][kept]) for each, kept in parts])


@dataclass(frozen=True)
class Between:
    """The values from `low` to `high`, both included, as in SQL's BETWEEN; None is no bound. NULL is in no range."""

    low: Any = None
    high: Any = None

    @property
    def bounds(self) -> list[Any]:
        """The bounds that are not None."""
        return [bound for bound in (self.low, self.high) if bound is not None]

    def has(self, value: Any, type_: Type) -> bool:
        """Return whether a Python value is in the range."""
        if value is None:
            return False
        low, high = (None if bound is None else in_order(of_python(bound, type_)) for bound in (self.low, self.high))
        return (low is None or in_order(value) >= low) and (high is None or in_order(value) <= high)

    def mask(self, column: pa.ChunkedArray, type_: Type) -> pa.ChunkedArray:
        """Return the mask of a column's values in the range."""
        result = pc.is_valid(column)
        if self.low is not None:
            result = pc.and_(result, pc.greater_equal(column, _scalar(self.low, type_)))
        if self.high is not None:
            result = pc.and_(result, pc.less_equal(column, _scalar(self.high, type_)))
        return pc.fill_null(result, False)


def has_ranges(type_: Type) -> bool:
    """Return whether ranges of values of a type can be looked up."""
    return not type_.is_composite and type_.kind is not Kind.YEAR_MONTH_INTERVAL


def _scalar(value: Any, type_: Type) -> pa.Scalar:
    return pa.scalar(value, type_.arrow)
