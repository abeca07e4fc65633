"""The changing part of an arrangement while its recursion runs in compiled code: three levels of sorted rows.

DELTA is the change of the present iteration, NEAR collects the changes of some iterations, FAR those of many. A level
is a row of `levels`: the four fields of a run's descriptor and its greatest time. Every level has all three arrays, in
buffers that the caller allocated. `spares` has a second set of buffers for NEAR and FAR, so that two levels are merged
in one pass from one buffer into another.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.component import A, Component
from deltic.engine.kernels.declaring import compiled
from deltic.engine.kernels.memory import load_i32, load_i64, load_u64, store_i32, store_i64, store_u64
from deltic.engine.kernels.merge import compare
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS
from deltic.engine.kernels.types import Int, Ints, Table

DELTA, NEAR, FAR = range(3)
MAX_TIME = 4


@compiled
def _merged_size(x: Ints, y: Ints, width: Int) -> Int:
    """Return the number of entries of the sum of two levels."""
    i = j = n = 0
    while i < x[ROWS] and j < y[ROWS]:
        order = compare(x, i, y, j, width, True)
        n += 1
        if order == 0 and load_i64(x[WEIGHTS], i) + load_i64(y[WEIGHTS], j) == 0:
            n -= 1
        i += order <= 0
        j += order >= 0
    return n + x[ROWS] - i + y[ROWS] - j


@compiled
def absorb(component: Component, a: Int, target: Int, source: Int) -> None:
    """Add level `source` of arrangement a to level `target`, NEAR or FAR, and empty the source."""
    x = component.levels[a, target]
    y = component.levels[a, source]
    if y[ROWS] == 0:
        return
    width = component.arrangements[a, A.WIDTH]
    size = x[ROWS] + y[ROWS] if width == 1 else _merged_size(x, y, width)
    spare = component.spares[a, target - 1]
    words, times, weights = spare[0], spare[1], spare[2]
    i = j = n = 0
    while i < x[ROWS] or j < y[ROWS]:
        if i == x[ROWS]:
            order = 1
        elif j == y[ROWS]:
            order = -1
        else:
            order = compare(x, i, y, j, width, True)
        weight = np.int64(0)
        if order <= 0:
            weight += load_i64(x[WEIGHTS], i)
        if order >= 0:
            weight += load_i64(y[WEIGHTS], j)
        if weight:
            for w in range(width):
                if order <= 0:
                    store_u64(words + w * size * 8, n, load_u64(x[WORDS] + w * x[ROWS] * 8, i))
                else:
                    store_u64(words + w * size * 8, n, load_u64(y[WORDS] + w * y[ROWS] * 8, j))
            store_i32(times, n, load_i32(x[TIMES], i) if order <= 0 else load_i32(y[TIMES], j))
            store_i64(weights, n, weight)
            n += 1
        i += order <= 0
        j += order >= 0
    spare[0], spare[1], spare[2] = x[WORDS], x[TIMES], x[WEIGHTS]
    x[ROWS], x[WORDS], x[TIMES], x[WEIGHTS] = n, words, times, weights
    x[MAX_TIME] = max(x[MAX_TIME], y[MAX_TIME])
    y[ROWS] = 0
    y[MAX_TIME] = 0


@compiled
def copy_runs(runs: Table, n: Int, base: Table, first: Int, count: Int) -> Int:
    """Write `count` descriptors of `base` from row n of `runs` on. Return the row after the last."""
    for r in range(first, first + count):
        for k in range(4):
            runs[n, k] = base[r, k]
        n += 1
    return n


@compiled
def gather(component: Component, a: Int, with_delta: bool, runs: Table, n: Int) -> Int:
    """Write the descriptors of an arrangement's runs from row n of `runs` on. Return the row after the last."""
    arrangement = component.arrangements[a]
    n = copy_runs(runs, n, component.base, arrangement[A.BASE], arrangement[A.BASE_COUNT])
    for level in range(FAR, NEAR - 1 - with_delta, -1):
        if component.levels[a, level, ROWS]:
            for k in range(4):
                runs[n, k] = component.levels[a, level, k]
            n += 1
    return n
