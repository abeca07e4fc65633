"""Changed rows by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.engine.storage.columns import Raw
from deltic.engine.storage.run import Words, are_new

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class GroupedRows:
    """Changed rows, sorted by group: `starts` has the first row of each of the `groups` with rows.

    `columns` are an array uint64[columns, n], of chosen rows a sequence of columns.
    """

    columns: Words | Sequence[Raw]
    weights: npt.NDArray[Any]
    starts: Positions
    groups: Positions

    @cached_property
    def group_of_each(self) -> Positions:
        """The group of each row."""
        return np.repeat(self.groups, np.diff(self.starts, append=len(self.weights)))

    def where(self, chosen: Mask) -> GroupedRows:
        """Return the chosen rows."""
        rows = np.flatnonzero(chosen)
        groups = self.group_of_each[rows]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        return GroupedRows(_Chosen(self.columns, rows), self.weights[rows], starts, groups[starts])


@dataclass(frozen=True)
class _Chosen(Sequence[Raw]):
    """Columns of chosen rows, which are gathered when read: an aggregate with many calls reads few for each."""

    columns: Words | Sequence[Raw]
    rows: Positions

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [column[self.rows] for column in self.columns[place]]
        return self.columns[place][self.rows]


def starts_of_groups(keys: Words | Sequence[Raw]) -> Positions:
    """Return the first row of each group among rows, at least one, that are sorted by these columns."""
    return np.flatnonzero(are_new(keys)) if len(keys) else np.zeros(1, np.int64)
