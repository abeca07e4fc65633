"""From changed derivation counts to changed sets: one kernel for plain sets, and one for recursive ones.

`words` are the candidate rows, sorted and distinct; `runs` are descriptors of the runs with the state.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, inlined, kernel
from deltic.engine.kernels.memory import load_u64
from deltic.engine.kernels.narrow import load_time, load_weight
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, bisect_word, compare_rows, find_row
from deltic.engine.kernels.types import U64, Bools, Int, Ints, Rows, Table, Times, Words1, Words2

NEVER = np.int32(-1)


@inlined
def _stride(rows: Int, count: Int) -> Int:
    """Return a power of two: the distance of `count` sorted rows in a run, up to a factor of two."""
    stride = 8
    while stride < rows and stride * count < 2 * rows:
        stride *= 2
    return stride


@inlined
def _leap(address: Int, rows: Int, i: Int, stride: Int, word: U64) -> Int:
    """Return the start of the stretch of `stride` rows, from i on, that ends at or after a word."""
    while i + stride <= rows and load_u64(address, i + stride - 1) < word:
        i += stride
    return i


@inlined
def _find_within(address: Int, rows: Int, i: Int, stride: Int, words: Words2, j: Int) -> Int:
    """Return the first position at or after row j of `words` in such a stretch.

    Without a branch on which word is less, and the next search does not wait for this one: it begins at a stretch.
    """
    word = words[0, j]
    if i + stride > rows:
        i = bisect_word(address, i, rows, word)
    else:
        while stride > 1:
            stride >>= 1
            i += stride * np.int64(load_u64(address, i + stride - 1) < word)
        i += np.int64(load_u64(address, i) < word)
    return i if words.shape[0] == 1 else find_row(address, rows, i, words, j)


@compiled
def _begins(address: Int, rows: Int, i: Int, low: Words2, mask: Words1, j: Int) -> bool:
    """Return whether row i of a run is row j of `low` in the bits of `mask`."""
    for w in range(low.shape[0]):
        if load_u64(address + w * rows * 8, i) & mask[w] != low[w, j]:
            return False
    return True


@kernel
def totals_alike(words: Rows, low: Rows, mask: Words1, runs: Table) -> tuple[Ints, Ints]:
    """Return the summed weight of each row over all runs, whatever its times, and that of all rows that begin like it.

    Both int64[n]. `low` are the rows with the bits of `mask` alone, by which they are compared at first.
    """
    n = words.shape[1]
    sums = np.zeros(n, np.int64)
    alike = np.zeros(n, np.int64)
    for r in range(runs.shape[0]):
        address, rows, weights = runs[r, WORDS], runs[r, ROWS], runs[r, WEIGHTS]
        i = 0
        stride = _stride(rows, n)
        for j in range(n):
            i = _leap(address, rows, i, stride, low[0, j])
            at = _find_within(address, rows, i, stride, low, j)
            while at < rows and _begins(address, rows, at, low, mask, j):
                weight = load_weight(weights, at)
                alike[j] += weight
                if compare_rows(address, rows, at, words, j) == 0:
                    sums[j] += weight
                at += 1
    return sums, alike


@kernel
def totals(words: Rows, runs: Table) -> Ints:
    """Return the summed weight of each row over all runs, at any time: int64[n]."""
    sums, _ = totals_alike(words, words, np.full(words.shape[0], ~np.uint64(0)), runs)
    return sums


@kernel
def crossings(old: Ints, change: Ints) -> Ints:
    """Return +1 where a count becomes positive, −1 where it ceases to be, 0 elsewhere: H of [DBSP Prop. 6.12]."""
    actions = np.empty(old.size, np.int64)
    for j in range(old.size):
        actions[j] = np.int64(old[j] + change[j] > 0) - np.int64(old[j] > 0)
    return actions


@compiled
def _next_time(words: Words2, j: Int, runs: Table, at: Ints, after: Int) -> Int:
    """Return the least time greater than `after` at which row j has a positive total; NEVER if none.

    `at[r]` is the position of the row's first entry in run r.
    """
    time = after
    while True:
        following = np.int64(1) << 40
        for r in range(runs.shape[0]):
            run = runs[r]
            i = at[r]
            while i < run[ROWS] and compare_rows(run[WORDS], run[ROWS], i, words, j) == 0:
                if load_time(run[TIMES], i) > time:
                    following = min(following, load_time(run[TIMES], i))
                    break
                i += 1
        if following == np.int64(1) << 40:
            return np.int64(NEVER)
        time = following
        if _total_at(words, j, runs, at, time) > 0:
            return time


@compiled
def _total_at(words: Words2, j: Int, runs: Table, at: Ints, time: Int) -> Int:
    """Return the total of row j at exactly `time`."""
    total = 0
    for r in range(runs.shape[0]):
        run = runs[r]
        i = at[r]
        while i < run[ROWS] and compare_rows(run[WORDS], run[ROWS], i, words, j) == 0:
            if load_time(run[TIMES], i) == time:
                total += load_weight(run[WEIGHTS], i)
            i += 1
    return total


@compiled
def _position(words: Words2, j: Int, runs: Table, at: Ints) -> None:
    """Move `at` to row j in every run; the positions must not be past it."""
    for r in range(runs.shape[0]):
        at[r] = find_row(runs[r, WORDS], runs[r, ROWS], at[r], words, j)


@kernel
def known(words: Rows, runs: Table, now: Int) -> Bools:
    """Return whether each row is in the relation at an iteration up to `now`; `runs` have (row, first iteration)."""
    until, _, _ = _around(words, runs, now + 1)
    return until > 0


@compiled
def _around(words: Words2, runs: Table, now: Int) -> tuple[Ints, Ints, Bools]:
    """Return the total of each row before and at iteration `now`, int64[n] each, and whether it has later entries,
    bool[n].

    Runs are read one after the other, because the rows are in the order of each.
    """
    n = words.shape[1]
    before = np.zeros(n, np.int64)
    present = np.zeros(n, np.int64)
    after = np.zeros(n, np.bool_)
    for r in range(runs.shape[0]):
        address, rows, times, weights = runs[r, WORDS], runs[r, ROWS], runs[r, TIMES], runs[r, WEIGHTS]
        i = 0
        stride = _stride(rows, n)
        for j in range(n):
            i = _leap(address, rows, i, stride, words[0, j])
            at = _find_within(address, rows, i, stride, words, j)
            if at == rows:
                break
            while at < rows and compare_rows(address, rows, at, words, j) == 0:
                time = load_time(times, at)
                if time < now:
                    before[j] += load_weight(weights, at)
                elif time == now:
                    present[j] += load_weight(weights, at)
                else:
                    after[j] = True
                at += 1
    return before, present, after


@kernel
def settle(
    words: Rows, change: Ints, now: Int, rows: Table, counts: Table, found: Table, keeps_all: bool
) -> tuple[Ints, Ints, Times, Bools]:
    """Decide for each candidate whether iteration `now` is the first at which it is derived.

    `change` int64[n] is the change of the row's derivation count at `now`. `rows` are runs of (row, first iteration),
    final before `now`. `counts` are runs of (row, iteration) with counts, without `change`: at every iteration if
    `keeps_all`, else at the row's first; then `found` are the later counts of rows that the epoch took from their
    first.

    Returns `actions` int64[n], +1 to assert the row at `now`, −1 to retract it; `counted` int64[n], the change of
    `counts` at `now`; `later` int32[n], the iteration at which to examine the row again, or NEVER; and `lost` bool[n],
    the retracted rows whose later counts are not kept.
    """
    n = words.shape[1]
    actions = np.zeros(n, np.int64)
    counted = change.copy()
    later = np.full(n, NEVER, np.int32)
    lost = np.zeros(n, np.bool_)
    row_at = np.zeros(rows.shape[0], np.int64)
    count_at = np.zeros(counts.shape[0], np.int64)
    found_at = np.zeros(found.shape[0], np.int64)
    before, at_now, after = _around(words, rows, now)
    for j in range(n):
        earlier = before[j]
        present = at_now[j]
        kept = np.int64(0)
        if (earlier <= 0 and change[j] <= 0) if keeps_all else present:
            _position(words, j, counts, count_at)
            kept = _total_at(words, j, counts, count_at, now)
        if earlier > 0:
            actions[j] = -present
            if not keeps_all:
                counted[j] = -kept
            continue
        total = kept + change[j]
        if found.shape[0]:
            _position(words, j, found, found_at)
            total += _total_at(words, j, found, found_at, now)
        derived = total > 0
        if not keeps_all:
            counted[j] = (total if derived else 0) - kept
            lost[j] = present and not derived
        if derived and not present:
            if after[j]:
                _position(words, j, rows, row_at)
                later[j] = _next_time(words, j, rows, row_at, now)
        elif not derived and keeps_all:
            later[j] = _next_time(words, j, counts, count_at, now)
        elif not derived and found.shape[0]:
            later[j] = _next_time(words, j, found, found_at, now)
        actions[j] = np.int64(derived) - present
    return actions, counted, later, lost


@kernel
def upcoming(words: Rows, runs: Table, after: Int) -> Times:
    """Return the least iteration after `after` at which each row has a positive count: int32[n], NEVER if none."""
    n = words.shape[1]
    times = np.full(n, NEVER, np.int32)
    at = np.zeros(runs.shape[0], np.int64)
    for j in range(n):
        _position(words, j, runs, at)
        times[j] = _next_time(words, j, runs, at, after)
    return times
