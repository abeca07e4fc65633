"""The memory for the changes that compiled iterations make to arrangements: levels of rows, see `kernels.overlay`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deltic.engine.kernels.overlay import DELTA, FAR, MAX_TIME, NEAR
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS
from deltic.engine.kernels.thresholds import Thresholds
from deltic.engine.storage.run import Run, Times, Weights, Words1

_ARRAYS = [WORDS, TIMES, WEIGHTS]

_Buffer = tuple[Words1, Times, Weights]


class LevelBuffers:
    """`levels` int64[A, 3, 5] and `spares` int64[A, 2, 3] of arrangements whose rows have `widths` words.

    Only the arrangements in `changing` have memory, multiplied by its number. Each level has room for its limit and
    the content of the level before it.
    """

    def __init__(self, widths: Sequence[int], changing: Mapping[int, int], thresholds: Thresholds) -> None:
        self.widths = widths
        self.levels = np.zeros((len(widths), 3, 5), np.int64)
        self.spares = np.zeros((len(widths), 2, 3), np.int64)
        self._by_address: dict[int, _Buffer] = {}
        near = thresholds.near + thresholds.most_rows
        capacities = {DELTA: thresholds.most_rows, NEAR: near, FAR: thresholds.far + near}
        for a, times in changing.items():
            for level, capacity in capacities.items():
                self.levels[a, level, _ARRAYS] = self._allot(widths[a], times * capacity)
                if level != DELTA:
                    self.spares[a, level - 1] = self._allot(widths[a], times * capacity)

    def _allot(self, width: int, capacity: int) -> list[int]:
        buffer = np.empty(width * capacity, np.uint64), np.empty(capacity, np.int32), np.empty(capacity, np.int64)
        self._by_address[buffer[0].ctypes.data] = buffer
        return [array.ctypes.data for array in buffer]

    def clear(self) -> None:
        """Discard all rows, which are of an abandoned epoch."""
        self.levels[:, :, [ROWS, MAX_TIME]] = 0

    def take(self, a: int) -> list[Run]:
        """Return the rows of the levels FAR and NEAR of an arrangement as runs, and empty the levels."""
        runs = []
        for level in (FAR, NEAR):
            row = self.levels[a, level]
            count, width = int(row[ROWS]), self.widths[a]
            if count:
                words, times, weights = self._by_address[int(row[WORDS])]
                rows = words[: width * count].reshape(width, count).copy()
                runs.append(Run(rows, times[:count].copy(), weights[:count].copy()))
            row[ROWS] = row[MAX_TIME] = 0
        return runs
