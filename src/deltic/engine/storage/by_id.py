"""Numbers that belong to the ids of a dictionary: each is computed when its id is first met, and kept in an array.

So shards that exchange texts decode a text once, and then translate its id; and its hash is computed once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deltic.engine.storage.columns import Values


class NumbersById:
    """A number other than 0 for each id, as `compute` returns it for distinct ids. Pages without such ids take no
    memory.
    """

    def __init__(self, compute: Callable[[Values], Values]) -> None:
        self._compute, self._numbers = compute, np.zeros(0, np.int64)

    def of(self, ids: Values, size: int) -> Values:
        """Return the numbers of ids below `size`, int64[n]."""
        if size > len(self._numbers):
            grown = np.zeros(max(size, 2 * len(self._numbers)), np.int64)
            grown[: len(self._numbers)] = self._numbers
            self._numbers = grown
        numbers = self._numbers[ids]
        if not numbers.all():
            new = np.unique(ids[numbers == 0])
            self._numbers[new] = self._compute(new)
            numbers = self._numbers[ids]
        return numbers
