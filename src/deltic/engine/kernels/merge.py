"""Merging and consolidating sorted rows; keys are (row, time), weights of equal keys add up and zeros vanish."""

from __future__ import annotations

import numpy as np

from deltic.engine.kernels.declaring import compiled, kernel
from deltic.engine.kernels.memory import load_u64, store_u64
from deltic.engine.kernels.narrow import load_time, load_weight, store_time, store_weight
from deltic.engine.kernels.search import ROWS, TIMES, WEIGHTS, WORDS, describe
from deltic.engine.kernels.types import Bytes, Int, Ints, Rows, Table, Times, Weights, Words1, Words2
from deltic.engine.kernels.weights import OVERFLOWED, checked_sum

# Rows that are merged at a time: which run each is from fits into the first-level cache.
_BLOCK = 2048
_FROM_A, _FROM_B = 1, 2


@compiled
def compare(a: Ints, i: Int, b: Ints, j: Int, words: Int, timed: bool) -> Int:
    """Sign of (row i of run a) − (row j of run b), times included."""
    for w in range(words):
        x = load_u64(a[WORDS] + w * a[ROWS] * 8, i)
        y = load_u64(b[WORDS] + w * b[ROWS] * 8, j)
        if x != y:
            return -1 if x < y else 1
    if timed:
        return load_time(a[TIMES], i) - load_time(b[TIMES], j)
    return 0


@compiled
def _choose_words(
    a: Int, a_times: Int, i: Int, b: Int, b_times: Int, j: Int, count: Int, out: Int, origins: Bytes
) -> tuple[Int, Int]:
    """Merge the words of the next `count` keys, of one word and maybe a time, and record the origins of each.

    There is no branch on which word is less: it would be mispredicted.
    """
    for k in range(count):
        x = load_u64(a, i)
        y = load_u64(b, j)
        from_a = np.int64(x <= y)
        from_b = np.int64(y <= x)
        if x == y and a_times:
            order = load_time(a_times, i) - load_time(b_times, j)
            from_a = np.int64(order <= 0)
            from_b = np.int64(order >= 0)
        store_u64(out, k, min(x, y))
        origins[k] = from_a | from_b << 1
        i += from_a
        j += from_b
    return i, j


@compiled
def _choose(a: Ints, i: Int, b: Ints, j: Int, words: Int, timed: bool, count: Int, origins: Bytes) -> tuple[Int, Int]:
    """Record the origins of the next `count` keys."""
    for k in range(count):
        order = compare(a, i, b, j, words, timed)
        origins[k] = (_FROM_A if order <= 0 else 0) | (_FROM_B if order >= 0 else 0)
        i += order <= 0
        j += order >= 0
    return i, j


@compiled
def _take_words(a: Int, i: Int, b: Int, j: Int, count: Int, out: Int, origins: Bytes) -> None:
    """Copy one word of each row from its origin."""
    for k in range(count):
        from_a = np.int64(origins[k] & _FROM_A)
        x = load_u64(a, i)
        y = load_u64(b, j)
        store_u64(out, k, x if from_a else y)
        i += from_a
        j += np.int64(origins[k] >> 1)


@compiled
def _take_times(a: Int, i: Int, b: Int, j: Int, count: Int, out: Int, n: Int, origins: Bytes) -> None:
    """Copy the time of each row from its origin."""
    for k in range(count):
        from_a = np.int64(origins[k] & _FROM_A)
        s = load_time(a, i)
        t = load_time(b, j)
        store_time(out, n + k, s if from_a else t)
        i += from_a
        j += np.int64(origins[k] >> 1)


@compiled
def _add_weights(a: Int, i: Int, b: Int, j: Int, count: Int, out: Int, n: Int, origins: Bytes) -> Int:
    """Sum the weight of each row over its origins. Return the number of weights that are not zero."""
    kept = 0
    for k in range(count):
        from_a = np.int64(origins[k] & _FROM_A)
        from_b = np.int64(origins[k] >> 1)
        total = from_a * load_weight(a, i) + from_b * load_weight(b, j)
        store_weight(out, n + k, total)
        kept += total != 0
        i += from_a
        j += from_b
    return kept


@compiled
def _drop_zeros(out: Ints, words: Int, n: Int, count: Int) -> None:
    """Remove the rows of weight zero among the last `count` rows, from n on."""
    at = n
    for k in range(n, n + count):
        weight = load_weight(out[WEIGHTS], k)
        if weight:
            for w in range(words):
                address = out[WORDS] + w * out[ROWS] * 8
                store_u64(address, at, load_u64(address, k))
            if out[TIMES]:
                store_time(out[TIMES], at, load_time(out[TIMES], k))
            store_weight(out[WEIGHTS], at, weight)
            at += 1


@compiled
def copy_rows(run: Ints, i: Int, end: Int, out: Ints, n: Int, words: Int) -> Int:
    """Append rows i to `end` of a run to `out`. Return its new number of rows."""
    for w in range(words):
        source = run[WORDS] + w * run[ROWS] * 8
        target = out[WORDS] + w * out[ROWS] * 8
        for k in range(end - i):
            store_u64(target, n + k, load_u64(source, i + k))
    if out[TIMES]:
        for k in range(end - i):
            store_time(out[TIMES], n + k, load_time(run[TIMES], i + k))
    if out[WEIGHTS]:
        for k in range(end - i):
            store_weight(out[WEIGHTS], n + k, load_weight(run[WEIGHTS], i + k))
    return n + max(end - i, 0)


@kernel
def merge(a: Ints, i: Int, a_end: Int, b: Ints, j: Int, b_end: Int, out: Ints, n: Int, words: Int) -> Int:
    """Write the sum of rows i to `a_end` of run a and j to `b_end` of run b to `out`, from row n on.

    Runs and `out` are descriptors; `out` has room, and has times if the runs have, which both or neither do. It may
    lack weights if neither run has any and no key is in both. Returns the new number of rows of `out`, or −1 if it
    needs weights.
    """
    origins = np.empty(_BLOCK, np.uint8)
    timed = out[TIMES] != 0
    while i < a_end and j < b_end:
        count = min(_BLOCK, min(a_end - i, b_end - j))
        i0, j0 = i, j
        if words == 1:
            target = out[WORDS] + n * 8
            i, j = _choose_words(a[WORDS], a[TIMES], i, b[WORDS], b[TIMES], j, count, target, origins)
        else:
            i, j = _choose(a, i, b, j, words, timed, count, origins)
            for w in range(words):
                target = out[WORDS] + (w * out[ROWS] + n) * 8
                _take_words(a[WORDS] + w * a[ROWS] * 8, i0, b[WORDS] + w * b[ROWS] * 8, j0, count, target, origins)
        if timed:
            _take_times(a[TIMES], i0, b[TIMES], j0, count, out[TIMES], n, origins)
        if out[WEIGHTS]:
            kept = _add_weights(a[WEIGHTS], i0, b[WEIGHTS], j0, count, out[WEIGHTS], n, origins)
            if kept < count:
                _drop_zeros(out, words, n, count)
            n += kept
        elif i - i0 + j - j0 > count:
            return -1
        else:
            n += count
    n = copy_rows(a, i, a_end, out, n, words)
    return copy_rows(b, j, b_end, out, n, words)


@kernel
def merge_small(runs: Table, width: Int, timed: bool) -> tuple[Words2, Times, Ints, Ints]:
    """Return the sum of two runs or more in new arrays of full width, and what `describe` says of it.

    The last runs are merged first, because they are the smallest.
    """
    arrays = np.empty((width, 0), np.uint64), np.empty(0, np.int32), np.empty(0, np.int64)
    last = runs[runs.shape[0] - 1].copy()
    for r in range(runs.shape[0] - 2, -1, -1):
        arrays = _sum(runs[r], last, arrays, timed)
        last = describe(arrays[0], arrays[1], arrays[2])
    return arrays[0], arrays[1], arrays[2], last


@compiled
def _sum(a: Ints, b: Ints, arrays: tuple[Words2, Times, Ints], timed: bool) -> tuple[Words2, Times, Ints]:
    """Return the sum of two runs. The `arrays` of the second one live as long as this call, which has their addresses
    alone.
    """
    words, times, weights = arrays
    width, size, n = words.shape[0], a[ROWS] + b[ROWS], -1
    weighted = a[WEIGHTS] != 0 or b[WEIGHTS] != 0
    while n < 0:
        words = np.empty((width, size), np.uint64)
        times = np.empty(size if timed else 0, np.int32)
        weights = np.empty(size if weighted else 0, np.int64)
        out = np.zeros(4, np.int64)
        out[ROWS] = size
        out[WORDS] = words.ctypes.data
        if timed:
            out[TIMES] = times.ctypes.data
        if weighted:
            out[WEIGHTS] = weights.ctypes.data
        n = merge(a, 0, a[ROWS], b, 0, b[ROWS], out, 0, width)
        weighted = True
    return words[:, :n].copy(), times[:n].copy(), weights[:n].copy()


@kernel
def split(a: Ints, i: Int, b: Ints, words: Int, timed: bool) -> Int:
    """Return the number of rows of run b before row i of run a."""
    lo = 0
    hi = b[ROWS]
    while lo < hi:
        middle = (lo + hi) >> 1
        if compare(b, middle, a, i, words, timed) < 0:
            lo = middle + 1
        else:
            hi = middle
    return lo


@kernel
def repeats(words: Rows) -> bool:
    """Return whether any two neighbours among sorted rows are equal."""
    for i in range(1, words.shape[1]):
        if words[0, i] == words[0, i - 1] and not _before(words, i - 1, i):
            return True
    return False


@kernel
def count_equal(words: Words1, counts: Ints) -> Int:
    """Move the distinct values of sorted `words` to its front, and their frequencies to the front of `counts`."""
    n = 0
    i = 0
    while i < words.size:
        value = words[i]
        first = i
        i += 1
        while i < words.size and words[i] == value:
            i += 1
        words[n] = value
        counts[n] = i - first
        n += 1
    return n


@compiled
def _before(words: Words2, p: Int, q: Int) -> bool:
    for w in range(words.shape[0]):
        if words[w, p] != words[w, q]:
            return bool(words[w, p] < words[w, q])
    return False


@compiled
def _sift(words: Words2, order: Ints, first: Int, root: Int, count: Int) -> None:
    while 2 * root + 1 < count:
        child = 2 * root + 1
        if child + 1 < count and _before(words, order[first + child], order[first + child + 1]):
            child += 1
        if not _before(words, order[first + root], order[first + child]):
            return
        order[first + root], order[first + child] = order[first + child], order[first + root]
        root = child


@kernel
def order_ties(words: Rows, order: Ints) -> None:
    """Sort rows that are sorted by their first word by the others, too; `order` is changed in place."""
    first = 0
    while first < order.size:
        end = first + 1
        while end < order.size and words[0, order[end]] == words[0, order[first]]:
            end += 1
        _order(words, order, first, end)
        first = end


@compiled
def _order(words: Rows, order: Ints, first: Int, end: Int) -> None:
    """Order rows by all words, from a first position of `order` to an end."""
    if end - first > 1:
        count = end - first
        if count <= 24:
            for i in range(first + 1, end):
                row = order[i]
                j = i
                while j > first and _before(words, row, order[j - 1]):
                    order[j] = order[j - 1]
                    j -= 1
                order[j] = row
        else:
            for root in range(count // 2 - 1, -1, -1):
                _sift(words, order, first, root, count)
            for last in range(count - 1, 0, -1):
                order[first], order[first + last] = order[first + last], order[first]
                _sift(words, order, first, 0, last)


@kernel
def consolidate_few(words: Rows, weights: Weights, keep_zeros: bool) -> tuple[Words2, Weights, bool]:
    """Few rows, sorted and distinct, with their summed weights, zeros left out or kept; whether a sum overflows."""
    order = np.arange(words.shape[1])
    _order(words, order, 0, order.size)
    out, sums, n = sum_ordered(words, weights, order, keep_zeros)
    overflows = False
    for weight in sums[:n]:
        overflows = overflows or weight == OVERFLOWED
    return out[:, :n].copy(), sums[:n].copy(), overflows


@kernel
def sum_ordered(words: Rows, weights: Weights, order: Ints, keep_zeros: bool) -> tuple[Words2, Ints, Int]:
    """Gather rows in `order` and sum the weights of equal ones: (words, weights, n), with or without zeros."""
    out = np.empty((words.shape[0], order.size), np.uint64)
    sums = np.empty(order.size, np.int64)
    n = 0
    i = 0
    while i < order.size:
        row = order[i]
        total = np.int64(0)
        shadow = 0.0
        overflows = False
        while i < order.size:
            same = True
            for w in range(words.shape[0]):
                if words[w, order[i]] != words[w, row]:
                    same = False
                    break
            if not same:
                break
            weight = weights[order[i]] if weights.size else np.int64(1)
            total += weight
            shadow += np.float64(weight)
            overflows |= weight == OVERFLOWED
            i += 1
        total = OVERFLOWED if overflows else checked_sum(total, shadow)
        if total or keep_zeros:
            for w in range(words.shape[0]):
                out[w, n] = words[w, row]
            sums[n] = total
            n += 1
    return out, sums, n
