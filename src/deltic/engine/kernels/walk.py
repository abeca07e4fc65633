"""Walks through sorted runs from given rows, up to a requested weight, within the group of each row.

Two rows are of one group if they agree in the bits of `mask`, which has a word for each of theirs.

`gap` is empty, or defines sessions: the word, shift and mask of the rows' times, the greatest distance within a
session, and the word and shift of the bit for NULL, where word -1 means that there is none.
"""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import load_u64
from deltic.engine.kernels.narrow import load_weight
from deltic.engine.kernels.search import ROWS, WEIGHTS, WORDS, compare_rows, find_row
from deltic.engine.kernels.types import Int, Ints, Rows, Table, Words1, Words2

ENOUGH, ENDED, MET = 0, 1, 2
_ROOM = 64


@compiled
def in_group(run: Ints, i: Int, words: Words2, j: Int, mask: Words1) -> bool:
    """Return whether row i of a run is in the group of row j of `words`."""
    if i < 0 or i >= run[ROWS]:
        return False
    for w in range(words.shape[0]):
        if (load_u64(run[WORDS] + w * run[ROWS] * 8, i) ^ words[w, j]) & mask[w]:
            return False
    return True


@compiled
def _same_group(words: Words2, i: Int, j: Int, mask: Words1) -> bool:
    """Return whether rows i and j of `words` are in one group."""
    for w in range(words.shape[0]):
        if (words[w, i] ^ words[w, j]) & mask[w]:
            return False
    return True


@compiled
def _start(run: Ints, at: Int, words: Words2, j: Int, ahead: bool) -> Int:
    """Return the position of row j of `words`, which belongs at `at`, or of the nearest row in the direction of the
    walk.
    """
    here = at < run[ROWS] and compare_rows(run[WORDS], run[ROWS], at, words, j) == 0
    return at if ahead or here else at - 1


@compiled
def _next(runs: Table, at: Ints, words: Words2, j: Int, mask: Words1, ahead: bool, row: Words2) -> bool:
    """Write the nearest row of the group at the position of any run into `row`. Return False if no run has one."""
    result = False
    for r in range(runs.shape[0]):
        if in_group(runs[r], at[r], words, j, mask):
            order = compare_rows(runs[r, WORDS], runs[r, ROWS], at[r], row, 0) if result else 0
            if not result or (order < 0) == ahead:
                for w in range(words.shape[0]):
                    row[w, 0] = load_u64(runs[r, WORDS] + w * runs[r, ROWS] * 8, at[r])
            result = True
    return result


@compiled
def _pass(runs: Table, at: Ints, ahead: bool, row: Words2) -> Int:
    """Move the positions of all runs that are at the row past it. Return the sum of its weights."""
    total = 0
    for r in range(runs.shape[0]):
        inside = at[r] >= 0 and at[r] < runs[r, ROWS]
        if inside and compare_rows(runs[r, WORDS], runs[r, ROWS], at[r], row, 0) == 0:
            total += load_weight(runs[r, WEIGHTS], at[r])
            at[r] += 1 if ahead else -1
    return total


@compiled
def _is_past(row: Words2, words: Words2, j: Int, ahead: bool) -> bool:
    """Return whether the row in `row` is row j of `words` or beyond it."""
    for w in range(words.shape[0]):
        if row[w, 0] != words[w, j]:
            return bool((row[w, 0] > words[w, j]) == ahead)
    return True


@compiled
def _are_apart(a: Words2, i: Int, b: Words2, j: Int, gap: Ints) -> bool:
    """Return whether the times of two rows are further apart than the gap; NULL is only near NULL."""
    if gap[4] >= 0 and ((a[gap[4], i] ^ b[gap[4], j]) >> np.uint64(gap[5])) & np.uint64(1):
        return True
    shift, mask = np.uint64(gap[1]), np.uint64(gap[2])
    one, other = (a[gap[0], i] >> shift) & mask, (b[gap[0], j] >> shift) & mask
    return bool((one - other if one > other else other - one) > np.uint64(max(gap[3], 0)))


@kernel
def walk(
    words: Rows, wanted: Ints, forward: Int, meet: Int, mask: Words1, gap: Ints, runs: Table
) -> tuple[Words2, Ints, Ints, Ints, Int]:
    """Walk from each row of `words`, included, over the rows of its group until their weights sum to the requested
    weight.

    `words` are sorted; rows whose weight is not positive are skipped. `forward` is 1 for ascending rows, 0 for
    descending ones. With `meet` a walk ends at the row of `words` that is next in its direction, with a `gap` after the
    first row that is apart from the one before. Returns the rows uint64[W, m], in the order of the walks, with their
    weights and the column of `words` from which each was reached; why each walk ended: ENOUGH, ENDED with its group, or
    MET the next; and the number of entries visited.
    """
    width, n = words.shape
    ahead = forward == 1
    rows = np.empty((width, _ROOM), np.uint64)
    weights = np.empty(_ROOM, np.int64)
    origins = np.empty(_ROOM, np.int64)
    ends = np.zeros(n, np.int64)
    row = np.empty((width, 1), np.uint64)
    at = np.zeros(runs.shape[0], np.int64)
    places = np.zeros(runs.shape[0], np.int64)
    m = 0
    visited = 0
    for j in range(n):
        following = j + 1 if ahead else j - 1
        bounded = meet == 1 and 0 <= following < n and _same_group(words, j, following, mask)
        if wanted[j] > 0:
            for r in range(runs.shape[0]):
                places[r] = find_row(runs[r, WORDS], runs[r, ROWS], places[r], words, j)
                at[r] = _start(runs[r], places[r], words, j, ahead)
                visited += 1
        total = 0
        while total < wanted[j]:
            result = _next(runs, at, words, j, mask, ahead, row)
            if not result or (bounded and _is_past(row, words, following, ahead)):
                ends[j] = MET if bounded else ENDED
                break
            weight = _pass(runs, at, ahead, row)
            visited += 1
            if weight > 0:
                ends_session = False
                if gap.size:
                    is_first = m == 0 or origins[m - 1] != j
                    ends_session = (
                        _are_apart(row, 0, words, j, gap) if is_first else _are_apart(row, 0, rows, m - 1, gap)
                    )
                if m == weights.shape[0]:
                    more_rows = np.empty((width, 2 * m), np.uint64)
                    more_weights = np.empty(2 * m, np.int64)
                    more_origins = np.empty(2 * m, np.int64)
                    for i in range(m):
                        more_weights[i] = weights[i]
                        more_origins[i] = origins[i]
                        for w in range(width):
                            more_rows[w, i] = rows[w, i]
                    rows, weights, origins = more_rows, more_weights, more_origins
                for w in range(width):
                    rows[w, m] = row[w, 0]
                weights[m] = weight
                origins[m] = j
                m += 1
                total += weight
                if ends_session:
                    break
    return rows[:, :m].copy(), weights[:m].copy(), origins[:m].copy(), ends, visited
