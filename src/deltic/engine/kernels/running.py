"""Reads groups iteration by iteration: their totals before one, their next change, their present values.

Rows begin with the key of their group, which a mask for each word selects. Rows with iterations have the iteration
after the key, at a place of `word`, `shift` and `mask`. Rows of totals end with the number of a slot, and their weights
are the totals *from* that iteration *on*, not changes of them: the last entry is the total.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import load_u64
from deltic.engine.kernels.narrow import load_time, load_weight
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, find_row
from deltic.engine.kernels.types import U64, Int, Ints, Rows, Table, Words1, Words2
from deltic.engine.kernels.walk import in_group

NONE = np.int64(-1)
# The place of a column: its word, the bits below it, and its bits.
WORD, SHIFT, MASK = range(3)


@compiled
def value_at(run: Ints, i: Int, place: Ints) -> U64:
    """Return the offset of a column in row i of a run."""
    word = load_u64(run[WORDS] + place[WORD] * run[ROWS] * 8, i)
    return (word >> np.uint64(place[SHIFT])) & np.uint64(place[MASK])


@compiled
def put(words: Words2, j: Int, place: Ints, value: Int) -> None:
    """Set a column of row j, whose bits are zeros."""
    words[place[WORD], j] |= np.uint64(value) << np.uint64(place[SHIFT])


@compiled
def last_record(words: Words2, j: Int, group: Words1, time: Ints, slot: U64, runs: Table, totals: Ints) -> Int:
    """Write the totals of the group of row j = (key, iteration, 0) before its iteration. Return the entries visited.

    The last slot is 1 if totals are valid; retracted entries are not, and the entry before them counts.
    """
    last = words.shape[0] - 1
    at = np.empty(runs.shape[0], np.int64)
    visited = runs.shape[0]
    for r in range(runs.shape[0]):
        at[r] = find_row(runs[r, WORDS], runs[r, ROWS], 0, words, j) - 1
    while True:
        totals[:] = 0
        latest = NONE
        for r in range(runs.shape[0]):
            if in_group(runs[r], at[r], words, j, group):
                latest = max(latest, np.int64(value_at(runs[r], at[r], time)))
        if latest == NONE:
            return visited
        for r in range(runs.shape[0]):
            run = runs[r]
            while in_group(run, at[r], words, j, group) and np.int64(value_at(run, at[r], time)) == latest:
                place = np.int64(load_u64(run[WORDS] + last * run[ROWS] * 8, at[r]) & slot)
                totals[place] += load_weight(run[WEIGHTS], at[r])
                at[r] -= 1
                visited += 1
        if totals[totals.size - 1]:
            return visited


@compiled
def next_iteration(words: Words2, j: Int, group: Words1, time: Ints, runs: Table) -> Int:
    """Return the next iteration, or its own, with an entry of the group of row j = (key, iteration, 0), or NONE."""
    result = NONE
    for r in range(runs.shape[0]):
        i = find_row(runs[r, WORDS], runs[r, ROWS], 0, words, j)
        if in_group(runs[r], i, words, j, group):
            at = np.int64(value_at(runs[r], i, time))
            if result == NONE or at < result:
                result = at
    return result


@compiled
def weights_around(words: Words2, j: Int, prefix: Words1, now: Int, runs: Table) -> tuple[Int, Int, Int]:
    """Return the weight of all rows that start like row j, before and at an iteration, and the entries visited."""
    before = after = np.int64(0)
    visited = runs.shape[0]
    for r in range(runs.shape[0]):
        run = runs[r]
        i = find_row(run[WORDS], run[ROWS], 0, words, j)
        while in_group(run, i, words, j, prefix):
            time, weight = load_time(run[TIMES], i), load_weight(run[WEIGHTS], i)
            if time < now:
                before += weight
            if time <= now:
                after += weight
            visited += 1
            i += 1
    return before, after, visited


@compiled
def nearest(
    words: Words2, j: Int, group: Words1, place: Ints, first: U64, until: Ints, runs: Table
) -> tuple[bool, U64, Int]:
    """Find the next value of the group of row j, beside its own one, that is present at an iteration.

    `until` is that iteration, and 1 for ascending values, 0 for descending ones; values less than `first` do not count.
    Returns whether there is one, the value, and the number of entries visited.
    """
    now, ahead = until[0], until[1] == 1
    own = (words[place[WORD], j] >> np.uint64(place[SHIFT])) & np.uint64(place[MASK])
    at = np.empty(runs.shape[0], np.int64)
    visited = runs.shape[0]
    for r in range(runs.shape[0]):
        run = runs[r]
        at[r] = find_row(run[WORDS], run[ROWS], 0, words, j)
        if not ahead:
            at[r] -= 1
        while ahead and in_group(run, at[r], words, j, group) and value_at(run, at[r], place) == own:
            at[r] += 1
            visited += 1
    step = 1 if ahead else -1
    while True:
        some, value = False, np.uint64(0)
        for r in range(runs.shape[0]):
            if in_group(runs[r], at[r], words, j, group):
                here = value_at(runs[r], at[r], place)
                if not some or (here < value) == ahead:
                    value = here
                some = True
        if not some or value < first:
            return False, np.uint64(0), visited
        total = np.int64(0)
        for r in range(runs.shape[0]):
            run = runs[r]
            while in_group(run, at[r], words, j, group) and value_at(run, at[r], place) == value:
                if load_time(run[TIMES], at[r]) <= now:
                    total += load_weight(run[WEIGHTS], at[r])
                at[r] += step
                visited += 1
        if total > 0:
            return True, value, visited


@kernel
def last_records(words: Rows, group: Words1, time: Ints, slot: U64, runs: Table, slots: Int) -> tuple[Table, Int]:
    """Return the totals int64[n, slots] of groups before the iterations of their rows, see `last_record`."""
    rows = words.copy()
    totals = np.zeros((rows.shape[1], slots), np.int64)
    visited = np.int64(0)
    for j in range(rows.shape[1]):
        visited += last_record(rows, j, group, time, slot, runs, totals[j])
    return totals, visited


@kernel
def next_iterations(words: Rows, group: Words1, time: Ints, runs: Table) -> Ints:
    """Return the first iterations with entries of groups, from those of their rows on, see `next_iteration`."""
    rows = words.copy()
    result = np.empty(rows.shape[1], np.int64)
    for j in range(rows.shape[1]):
        result[j] = next_iteration(rows, j, group, time, runs)
    return result


@kernel
def weights_of_values(words: Rows, prefix: Words1, now: Int, runs: Table) -> tuple[Ints, Ints, Int]:
    """Return the weights of values before and at an iteration, see `weights_around`."""
    rows = words.copy()
    before = np.empty(rows.shape[1], np.int64)
    after = np.empty(rows.shape[1], np.int64)
    visited = np.int64(0)
    for j in range(rows.shape[1]):
        before[j], after[j], more = weights_around(rows, j, prefix, now, runs)
        visited += more
    return before, after, visited


@kernel
def nearest_values(
    words: Rows, group: Words1, place: Ints, first: U64, until: Ints, runs: Table
) -> tuple[Ints, Words1, Int]:
    """Return the nearest present values beyond those of rows: 1 where there is one, and the values; see `nearest`."""
    rows = words.copy()
    some = np.zeros(rows.shape[1], np.int64)
    values = np.zeros(rows.shape[1], np.uint64)
    visited = np.int64(0)
    for j in range(rows.shape[1]):
        there, value, more = nearest(rows, j, group, place, first, until, runs)
        some[j], values[j] = there, value
        visited += more
    return some, values, visited
