"""Changed rows by the groups that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltic.engine.local.storage.layout import Raw
from deltic.engine.local.storage.run import Weights

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class GroupedRows:
    """Changed rows, sorted by group: `starts` says where each of the `groups` begins that have any."""

    columns: Sequence[Raw]
    weights: Weights
    starts: Positions
    groups: Positions

    def sum(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The sum of the rows' values in each group."""
        return np.add.reduceat(values, self.starts) if len(values) else values

    @property
    def group_of_each(self) -> Positions:
        """The group of each row."""
        return np.repeat(self.groups, np.diff(self.starts, append=len(self.weights)))

    def where(self, chosen: Mask) -> GroupedRows:
        """The chosen rows."""
        groups = self.group_of_each[chosen]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        return GroupedRows([c[chosen] for c in self.columns], self.weights[chosen], starts, groups[starts])


def starts_of_groups(keys: Sequence[Raw], count: int) -> Positions:
    """Where a group begins among `count` rows, one or more, that are sorted by these columns."""
    new = np.zeros(count, bool)
    new[0] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)
