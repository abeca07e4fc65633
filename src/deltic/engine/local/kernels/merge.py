"""Merging and consolidating sorted rows; keys are (row, time), weights of equal keys add up and zeros vanish.

Arrays: `words` uint64[W, n]; `times` int32[n] or empty for none; `weights` int64[n] or empty for all ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from deltic.engine.local.kernels.types import Int, Ints, Times, Weights, Words1, Words2


@njit(cache=True)
def _compare(a: Words2, a_times: Times, i: Int, b: Words2, b_times: Times, j: Int) -> Int:
    for w in range(a.shape[0]):
        if a[w, i] < b[w, j]:
            return -1
        if a[w, i] > b[w, j]:
            return 1
    if a_times.size:
        return np.int64(a_times[i]) - np.int64(b_times[j])
    return 0


@njit(cache=True)
def _put(
    words: Words2, times: Times, weights: Weights, n: Int, source: Words2, source_times: Times, i: Int, weight: Int
) -> None:
    for w in range(source.shape[0]):
        words[w, n] = source[w, i]
    if source_times.size:
        times[n] = source_times[i]
    weights[n] = weight


@njit(cache=True)
def all_one(weights: Weights) -> bool:
    """Whether every weight is one."""
    for i in range(weights.size):
        if weights[i] != 1:
            return False
    return True


@njit(cache=True)
def merge(
    a: Words2, a_times: Times, a_weights: Weights, b: Words2, b_times: Times, b_weights: Weights
) -> tuple[Words2, Times, Weights, Int]:
    """The sum of two runs: (words, times, weights, n), of which the first n entries count."""
    size = a.shape[1] + b.shape[1]
    words = np.empty((a.shape[0], size), np.uint64)
    times = np.empty(size if a_times.size or b_times.size else 0, np.int32)
    weights = np.empty(size, np.int64)
    i = j = n = 0
    while i < a.shape[1] or j < b.shape[1]:
        if i == a.shape[1]:
            order = 1
        elif j == b.shape[1]:
            order = -1
        else:
            order = _compare(a, a_times, i, b, b_times, j)
        if order < 0:
            _put(words, times, weights, n, a, a_times, i, a_weights[i] if a_weights.size else 1)
            i += 1
            n += 1
        elif order > 0:
            _put(words, times, weights, n, b, b_times, j, b_weights[j] if b_weights.size else 1)
            j += 1
            n += 1
        else:
            total = (a_weights[i] if a_weights.size else 1) + (b_weights[j] if b_weights.size else 1)
            if total:
                _put(words, times, weights, n, a, a_times, i, total)
                n += 1
            i += 1
            j += 1
    return words, times, weights, n


@njit(cache=True)
def merge_one_word(
    a: Words1, a_times: Times, a_weights: Weights, b: Words1, b_times: Times, b_weights: Weights
) -> tuple[Words1, Times, Weights, Int]:
    """`merge` for rows of one word, a[n] and b[n]: what most relations have, so written for speed.

    The weights of the result are empty when both inputs' are and no key is in both.
    """
    size = a.size + b.size
    timed = a_times.size + b_times.size > 0
    weighted = a_weights.size + b_weights.size > 0
    words = np.empty(size, np.uint64)
    times = np.empty(size if timed else 0, np.int32)
    weights = np.empty(size if weighted else 0, np.int64)
    i = j = n = 0
    while i < a.size and j < b.size:
        x = a[i]
        y = b[j]
        if x == y:
            later = timed and a_times[i] > b_times[j]
            if not timed or a_times[i] == b_times[j]:
                if not weighted:
                    weighted = True
                    weights = np.ones(size, np.int64)
                total = (a_weights[i] if a_weights.size else 1) + (b_weights[j] if b_weights.size else 1)
                if total:
                    words[n] = x
                    if timed:
                        times[n] = a_times[i]
                    weights[n] = total
                    n += 1
                i += 1
                j += 1
                continue
        else:
            later = x > y
        if later:
            words[n] = y
            if timed:
                times[n] = b_times[j]
            if weighted:
                weights[n] = b_weights[j] if b_weights.size else 1
            j += 1
        else:
            words[n] = x
            if timed:
                times[n] = a_times[i]
            if weighted:
                weights[n] = a_weights[i] if a_weights.size else 1
            i += 1
        n += 1
    rest, rest_times, rest_weights, k = (a, a_times, a_weights, i) if i < a.size else (b, b_times, b_weights, j)
    count = rest.size - k
    words[n : n + count] = rest[k:]
    if timed:
        times[n : n + count] = rest_times[k:]
    if weighted and rest_weights.size:
        weights[n : n + count] = rest_weights[k:]
    elif weighted:
        weights[n : n + count] = 1
    return words, times, weights, n + count


@njit(cache=True)
def run_lengths(sorted_words: Words1) -> tuple[Words1, Ints]:
    """The distinct values of a sorted array and how often each occurs."""
    n = 0
    for i in range(sorted_words.size):
        if i == 0 or sorted_words[i] != sorted_words[i - 1]:
            n += 1
    values = np.empty(n, np.uint64)
    counts = np.empty(n, np.int64)
    n = -1
    for i in range(sorted_words.size):
        if i == 0 or sorted_words[i] != sorted_words[i - 1]:
            n += 1
            values[n] = sorted_words[i]
            counts[n] = 0
        counts[n] += 1
    return values, counts


@njit(cache=True)
def _before(words: Words2, p: Int, q: Int) -> bool:
    for w in range(1, words.shape[0]):
        if words[w, p] != words[w, q]:
            return bool(words[w, p] < words[w, q])
    return False


@njit(cache=True)
def _sift(words: Words2, order: Ints, first: Int, root: Int, count: Int) -> None:
    while 2 * root + 1 < count:
        child = 2 * root + 1
        if child + 1 < count and _before(words, order[first + child], order[first + child + 1]):
            child += 1
        if not _before(words, order[first + root], order[first + child]):
            return
        order[first + root], order[first + child] = order[first + child], order[first + root]
        root = child


@njit(cache=True)
def order_ties(words: Words2, order: Ints) -> None:
    """Order rows that are sorted by their first word by the others too; `order` is changed in place."""
    first = 0
    while first < order.size:
        end = first + 1
        while end < order.size and words[0, order[end]] == words[0, order[first]]:
            end += 1
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
        first = end


@njit(cache=True)
def sum_ordered(words: Words2, weights: Weights, order: Ints, keep_zeros: bool) -> tuple[Words2, Ints, Int]:
    """Gather rows in `order` and add up the weights of equal ones: (words, weights, n), zeros left out or kept."""
    out = np.empty((words.shape[0], order.size), np.uint64)
    sums = np.empty(order.size, np.int64)
    n = 0
    i = 0
    while i < order.size:
        row = order[i]
        total = 0
        while i < order.size:
            same = True
            for w in range(words.shape[0]):
                if words[w, order[i]] != words[w, row]:
                    same = False
                    break
            if not same:
                break
            total += weights[order[i]] if weights.size else 1
            i += 1
        if total or keep_zeros:
            for w in range(words.shape[0]):
                out[w, n] = words[w, row]
            sums[n] = total
            n += 1
    return out, sums, n
