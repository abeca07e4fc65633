"""Changed rows by the groups that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deltic.engine.storage.layout import Raw

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class GroupedRows:
    """Changed rows, sorted by group: `starts` says where each of the `groups` begins that have any."""

    columns: Sequence[Raw]
    weights: npt.NDArray[Any]
    starts: Positions
    groups: Positions

    def sum(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The sum of the rows' values in each group."""
        return np.add.reduceat(values, self.starts) if len(values) else values

    @cached_property
    def group_of_each(self) -> Positions:
        """The group of each row."""
        return np.repeat(self.groups, np.diff(self.starts, append=len(self.weights)))

    def where(self, chosen: Mask) -> GroupedRows:
        """The chosen rows."""
        rows = np.flatnonzero(chosen)
        groups = self.group_of_each[rows]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        return GroupedRows(_Chosen(self.columns, rows), self.weights[rows], starts, groups[starts])


@dataclass(frozen=True)
class _Chosen(Sequence[Raw]):
    """Columns of which some rows are taken when they are read: an aggregate of many calls reads few for each."""

    columns: Sequence[Raw]
    rows: Positions

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [column[self.rows] for column in self.columns[place]]
        return self.columns[place][self.rows]


def starts_of_groups(keys: Sequence[Raw], count: int) -> Positions:
    """Where a group begins among `count` rows, one or more, that are sorted by these columns."""
    new = np.zeros(count, bool)
    new[0] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)
