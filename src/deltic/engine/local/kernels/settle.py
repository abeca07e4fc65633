"""From changed derivation counts to changed sets, one kernel for plain sets and one for recursive ones.

`words` holds the candidate rows, sorted and distinct; `runs` are descriptors of the runs that keep the state.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from deltic.engine.local.kernels.memory import load_i32, load_i64
from deltic.engine.local.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, compare_rows, find_row
from deltic.engine.local.kernels.types import Int, Ints, Table, Times, Words2

NEVER = np.int32(-1)


@njit(cache=True)
def totals(words: Words2, runs: Table) -> Ints:
    """The summed weight of each row over all runs, whatever its times: int64[n]."""
    n = words.shape[1]
    sums = np.zeros(n, np.int64)
    for r in range(runs.shape[0]):
        run = runs[r]
        at = 0
        for j in range(n):
            at = find_row(run[WORDS], run[ROWS], at, words, j)
            i = at
            while i < run[ROWS] and compare_rows(run[WORDS], run[ROWS], i, words, j) == 0:
                sums[j] += load_i64(run[WEIGHTS], i) if run[WEIGHTS] else 1
                i += 1
    return sums


@njit(cache=True)
def crossings(old: Ints, change: Ints) -> Ints:
    """+1 where a count becomes positive, −1 where it ceases to be, 0 elsewhere: H of [DBSP Prop. 6.12]."""
    actions = np.empty(old.size, np.int64)
    for j in range(old.size):
        actions[j] = np.int64(old[j] + change[j] > 0) - np.int64(old[j] > 0)
    return actions


@njit(cache=True)
def _next_time(words: Words2, j: Int, runs: Table, at: Ints, after: Int) -> Int:
    """The least time greater than `after` at which row j has a positive total; NEVER if none.

    `at[r]` is the position of the row's first entry in run r.
    """
    time = after
    while True:
        following = np.int64(1) << 40
        for r in range(runs.shape[0]):
            run = runs[r]
            i = at[r]
            while i < run[ROWS] and compare_rows(run[WORDS], run[ROWS], i, words, j) == 0:
                if load_i32(run[TIMES], i) > time:
                    following = min(following, np.int64(load_i32(run[TIMES], i)))
                    break
                i += 1
        if following == np.int64(1) << 40:
            return np.int64(NEVER)
        time = following
        if _total_at(words, j, runs, at, time) > 0:
            return time


@njit(cache=True)
def _total_at(words: Words2, j: Int, runs: Table, at: Ints, time: Int) -> Int:
    """The total of row j at exactly `time`."""
    total = 0
    for r in range(runs.shape[0]):
        run = runs[r]
        i = at[r]
        while i < run[ROWS] and compare_rows(run[WORDS], run[ROWS], i, words, j) == 0:
            if load_i32(run[TIMES], i) == time:
                total += load_i64(run[WEIGHTS], i) if run[WEIGHTS] else 1
            i += 1
    return total


@njit(cache=True)
def settle(words: Words2, change: Ints, now: Int, rows: Table, counts: Table) -> tuple[Ints, Times]:
    """Decide for each candidate whether iteration `now` is the first at which it is derived.

    `change` int64[n]: the change of the row's derivation count at `now`; `rows`: runs of (row, first
    iteration), final before `now`; `counts`: runs of (row, iteration) with counts, without `change`.
    Returns `actions` int64[n], +1 to assert the row at `now`, −1 to retract it, and `later` int32[n],
    the iteration at which to look at the row again, or NEVER.
    """
    n = words.shape[1]
    actions = np.zeros(n, np.int64)
    later = np.full(n, NEVER, np.int32)
    row_at = np.zeros(rows.shape[0], np.int64)
    count_at = np.zeros(counts.shape[0], np.int64)
    for j in range(n):
        earlier = np.int64(0)
        present = np.int64(0)
        for r in range(rows.shape[0]):
            run = rows[r]
            row_at[r] = find_row(run[WORDS], run[ROWS], row_at[r], words, j)
            i = row_at[r]
            while i < run[ROWS] and compare_rows(run[WORDS], run[ROWS], i, words, j) == 0:
                weight = load_i64(run[WEIGHTS], i) if run[WEIGHTS] else 1
                time = load_i32(run[TIMES], i)
                if time < now:
                    earlier += weight
                elif time == now:
                    present += weight
                i += 1
        wanted = False
        if earlier <= 0:
            derived = change[j] > 0
            if not derived:
                for r in range(counts.shape[0]):
                    count_at[r] = find_row(counts[r, WORDS], counts[r, ROWS], count_at[r], words, j)
                derived = _total_at(words, j, counts, count_at, now) + change[j] > 0
                if not derived:
                    later[j] = _next_time(words, j, counts, count_at, now)
            if derived:
                wanted = True
                if not present:
                    later[j] = _next_time(words, j, rows, row_at, now)
        actions[j] = np.int64(wanted) - present
    return actions, later
